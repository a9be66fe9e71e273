#include "harness/internal/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace lodestep::harness {
namespace {

Error system_error(const std::string& what, const std::string& path) {
  return Error{ErrorCode::kUnavailable, what + ": " + std::strerror(errno), path, ""};
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Status write_whole_file(const std::string& path, std::string_view bytes) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    // A device or a pipe cannot be renamed over: it is written as it is.
    const int device = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (device < 0) return system_error("cannot write", path);
    const bool good = write_all(device, bytes);
    const Status status = good ? Status() : Status(system_error("cannot write", path));
    ::close(device);
    return status;
  }
  std::string temporary = path + ".XXXXXX";
  const int file = ::mkstemp(temporary.data());
  if (file < 0) return system_error("cannot write", path);
  const auto abandon = [&](const char* what) {
    const Error error = system_error(what, path);
    ::close(file);
    ::unlink(temporary.c_str());
    return Status(error);
  };
  if (!write_all(file, bytes)) return abandon("cannot write");
  if (::fchmod(file, 0644) != 0 || ::fsync(file) != 0) return abandon("cannot write");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return abandon("cannot rename into place");
  ::close(file);
  return {};
}

Status write_output(const std::string& path, std::string_view bytes, Io& io) {
  if (path != "-") return write_whole_file(path, bytes);
  io.out << bytes << std::flush;
  if (io.out) return {};
  return Error{ErrorCode::kUnavailable, "cannot write the results", "standard output", ""};
}

Result<std::string> read_whole_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return Error{ErrorCode::kInvalidArgument, "is a folder, not a file", path, ""};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, "no such file, or not readable", path, ""};
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<std::string> read_input(const std::string& path, Io& io) {
  if (path != "-") return read_whole_file(path);
  return std::string(std::istreambuf_iterator<char>(io.in), {});
}

}  // namespace lodestep::harness
