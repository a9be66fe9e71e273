// `lodestep ratio`: Python's difflib.SequenceMatcher(None, a, b).ratio() for pairs of texts.
#include <ostream>

#include "base/sequence_matcher.h"
#include "base/text.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/json_lines.h"

namespace lodestep::harness {

Result<int> run_ratio(const std::vector<std::string>& words, Io& io) {
  Args args("ratio", "Similarity of pairs of texts, equal to Python's difflib to the last bit.");
  std::string in;
  args.option("--in", in, "JSON lines {\"a\":text,\"b\":text}; - is standard input").required();
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  Status done =
      for_each_json_line(in, io, [&](const rapidjson::Value& row, const std::string& where) -> Status {
        std::u32string points[2];
        for (const std::size_t side : {0, 1}) {
          Result<std::string> text = required_text(row, side == 0 ? "a" : "b", where);
          if (!text) return text.error();
          std::optional<std::u32string> decoded = decode_utf8(*text);
          if (!decoded) return Error{ErrorCode::kBadData, "text is not valid Unicode", where, ""};
          points[side] = *std::move(decoded);
        }
        io.out << "{\"ratio\":" << python_repr(sequence_ratio(points[0], points[1])) << "}\n";
        return {};
      });
  if (!done) return done.error();
  return 0;
}

}  // namespace lodestep::harness
