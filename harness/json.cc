#include "harness/internal/json.h"

#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include "base/text.h"

namespace lodestep::harness {
namespace {

constexpr std::size_t kMaxNesting = 64;

// Depth of brackets outside of strings: cheap, without recursion, before the real parser sees the text.
bool nests_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxNesting) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace

Status parse_json(std::string_view text, const std::string& where, rapidjson::Document& document) {
  if (!is_valid_utf8(text)) return Error{ErrorCode::kBadData, "not valid UTF-8", where, ""};
  if (nests_too_deep(text)) {
    return Error{ErrorCode::kBadData, "JSON nested deeper than " + std::to_string(kMaxNesting), where, ""};
  }
  document.Parse<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseFullPrecisionFlag>(text.data(), text.size());
  if (document.HasParseError()) {
    return Error{ErrorCode::kBadData,
                 std::string("malformed JSON: ") + rapidjson::GetParseError_En(document.GetParseError()),
                 where + (where.empty() ? "byte " : ", byte ") + std::to_string(document.GetErrorOffset()), ""};
  }
  return {};
}

Result<rapidjson::Document> parse_json(std::string_view text, const std::string& where) {
  rapidjson::Document document;
  if (Status status = parse_json(text, where, document); !status) return status.error();
  return document;
}

Result<rapidjson::Document> parse_json_object(std::string_view text, const std::string& where) {
  Result<rapidjson::Document> document = parse_json(text, where);
  if (document && !document->IsObject()) return Error{ErrorCode::kBadData, "not a JSON object", where, ""};
  return document;
}

std::optional<std::string> text_member(const rapidjson::Value& object, const char* name) {
  const auto found = object.FindMember(name);
  if (found == object.MemberEnd() || !found->value.IsString()) return std::nullopt;
  return std::string(found->value.GetString(), found->value.GetStringLength());
}

std::string to_json(const rapidjson::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace lodestep::harness
