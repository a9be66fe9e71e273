#include "base/result.h"

namespace lodestep {

const char* error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid_argument";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kBadData: return "bad_data";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kUnsupported: return "unsupported";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  return error.where.empty() ? error.message : error.message + " (" + error.where + ")";
}

std::ostream& operator<<(std::ostream& out, const Error& error) { return out << to_string(error); }

}  // namespace lodestep
