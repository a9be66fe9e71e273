#include "tests/unit/server/support.h"

#include "base/text.h"
#include "harness/internal/json.h"

namespace lodestep::harness {

std::string at(const std::string& text, const std::string& path) {
  const rapidjson::Document document = json(text);
  const rapidjson::Value* value = &document;
  for (const std::string_view piece : split(path, '.')) {
    if (value->IsObject()) {
      const auto found = value->FindMember(std::string(piece).c_str());
      if (found == value->MemberEnd()) return "";
      value = &found->value;
    } else if (value->IsArray()) {
      const auto index = parse_uint(piece);
      if (!index || *index >= value->Size()) return "";
      value = &(*value)[static_cast<rapidjson::SizeType>(*index)];
    } else {
      return "";
    }
  }
  return value->IsString() ? std::string(value->GetString(), value->GetStringLength()) : to_json(*value);
}

}  // namespace lodestep::harness
