#include "harness/internal/json.h"

#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"

namespace lodestep::harness {
namespace {

constexpr std::size_t kMaxNesting = 64;

// Whether an escape "\uD800" (high) or "\uDC00" (low) stands at `at`.
bool is_surrogate_escape(std::string_view text, std::size_t at, bool high) {
  if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u' || (text[at + 2] | 0x20) != 'd')
    return false;
  const std::string_view digits = high ? "89abAB" : "cdefCDEF";
  return digits.find(text[at + 3]) != std::string_view::npos;
}

// What the real parser would not see or not survive: depth of brackets outside of strings, and second halves
// of surrogate pairs without a first. Cheap and without recursion; nullptr: nothing.
const char* refusal(std::string_view text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        if (is_surrogate_escape(text, i, false)) return "an unpaired surrogate";
        i += is_surrogate_escape(text, i, true) && is_surrogate_escape(text, i + 6, false) ? 11 : 1;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxNesting) return "nested deeper than 64";
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return nullptr;
}

bool is_nested(const rapidjson::Value& value) { return value.IsObject() || value.IsArray(); }

std::string_view name_of(const rapidjson::Value::Member& member) {
  return {member.name.GetString(), member.name.GetStringLength()};
}

// Nearly all objects are small and have no name twice: that is seen without memory.
bool is_plain(const rapidjson::Value& object) {
  if (object.MemberCount() > 16) return false;
  for (auto at = object.MemberBegin(); at != object.MemberEnd(); ++at) {
    for (auto later = at + 1; later != object.MemberEnd(); ++later) {
      if (name_of(*at) == name_of(*later)) return false;
    }
  }
  return true;
}

// Which members have a later one of the same name; empty: none. Sorted, not hashed: names come from anywhere.
std::vector<bool> repeated_members(const rapidjson::Value& object) {
  std::vector<bool> out;
  if (is_plain(object)) return out;
  std::vector<std::pair<std::string_view, std::size_t>> names;
  names.reserve(object.MemberCount());
  for (auto at = object.MemberBegin(); at != object.MemberEnd(); ++at)
    names.emplace_back(name_of(*at), names.size());
  std::sort(names.begin(), names.end());
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i].first != names[i - 1].first) continue;
    out.resize(names.size());
    out[names[i - 1].second] = true;
  }
  return out;
}

// Of members with one name the last one stands, as in Python. Values nest no deeper than kMaxNesting.
void drop_repeated(rapidjson::Value& value) {
  if (value.IsArray()) {
    for (rapidjson::Value& item : value.GetArray()) {
      if (is_nested(item)) drop_repeated(item);
    }
    return;
  }
  const std::vector<bool> repeated = value.MemberCount() > 1 ? repeated_members(value) : std::vector<bool>();
  auto kept = value.MemberBegin();
  for (auto at = kept; at != value.MemberEnd(); ++at) {
    if (is_nested(at->value)) drop_repeated(at->value);
    if (!repeated.empty() && repeated[static_cast<std::size_t>(at - value.MemberBegin())]) continue;
    if (kept != at) {
      kept->name.Swap(at->name);
      kept->value.Swap(at->value);
    }
    ++kept;
  }
  if (kept != value.MemberEnd()) value.EraseMember(kept, value.MemberEnd());
}

}  // namespace

Status parse_json(std::string_view text, const std::string& where, rapidjson::Document& document,
                  Repeated repeated) {
  if (!is_valid_utf8(text)) return Error{ErrorCode::kBadData, "not valid UTF-8", where, ""};
  if (const char* refused = refusal(text))
    return Error{ErrorCode::kBadData, std::string("JSON refused: ") + refused, where, ""};
  document.Parse<rapidjson::kParseValidateEncodingFlag | rapidjson::kParseFullPrecisionFlag>(text.data(),
                                                                                             text.size());
  if (document.HasParseError()) {
    return Error{ErrorCode::kBadData,
                 std::string("malformed JSON: ") + rapidjson::GetParseError_En(document.GetParseError()),
                 where + (where.empty() ? "byte " : ", byte ") + std::to_string(document.GetErrorOffset()),
                 ""};
  }
  if (repeated == Repeated::kLastStands && is_nested(document)) drop_repeated(document);
  return {};
}

Result<rapidjson::Document> parse_json(std::string_view text, const std::string& where) {
  rapidjson::Document document;
  if (Status status = parse_json(text, where, document); !status) return status.error();
  return document;
}

Result<rapidjson::Document> parse_json_object(std::string_view text, const std::string& where,
                                              Repeated repeated) {
  rapidjson::Document document;
  if (Status status = parse_json(text, where, document, repeated); !status) return status.error();
  if (!document.IsObject()) return Error{ErrorCode::kBadData, "not a JSON object", where, ""};
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
