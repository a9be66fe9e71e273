// Expected failures as values: Status for "done or why not", Result<T> for "a T or why not".
//   Result<Level> level = parse_level(text);
//   if (!level) return level.error();
//   use(*level);
// Threads: as any value. Owns its message. Nothing here throws but access to an absent value (CHECK).
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "base/check.h"

namespace lodestep {

// What kind of failure it is; each edge maps a code once (exit status, HTTP status, Python exception).
enum class ErrorCode {
  kInvalidArgument,  // the caller's words are wrong: unknown option, malformed task id
  kNotFound,         // a named thing does not exist: file, task, split
  kBadData,          // a file or message is malformed; `where` says which place
  kUnavailable,      // the outside world failed: disk full, endpoint down, time limit
  kUnsupported,      // well-formed, but a construct that this version does not offer
};

// "invalid_argument", "not_found", "bad_data", "unavailable", "unsupported".
const char* error_code_name(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInvalidArgument;
  std::string message;  // one line: what is wrong
  std::string where;    // file, line, byte, level, ...; may be empty
  std::string hint;     // what to do about it; may be empty
};

// "message (where)", with the hint left out.
std::string to_string(const Error& error);
std::ostream& operator<<(std::ostream& out, const Error& error);

class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  Status(Error error) : error_(std::move(error)) {}
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    LODESTEP_CHECK(!ok());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : error_(std::move(error)) {}
  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const {
    LODESTEP_CHECK(!ok());
    return error_;
  }
  Status status() const { return ok() ? Status() : Status(error_); }
  T& operator*() & {
    LODESTEP_CHECK(ok(), error_);
    return *value_;
  }
  const T& operator*() const& {
    LODESTEP_CHECK(ok(), error_);
    return *value_;
  }
  T&& operator*() && {
    LODESTEP_CHECK(ok(), error_);
    return std::move(*value_);
  }
  T* operator->() {
    LODESTEP_CHECK(ok(), error_);
    return &*value_;
  }
  const T* operator->() const {
    LODESTEP_CHECK(ok(), error_);
    return &*value_;
  }

 private:
  std::optional<T> value_;
  Error error_;
};

}  // namespace lodestep
