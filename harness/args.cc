#include "harness/internal/args.h"

#include <CLI/CLI.hpp>

#include <algorithm>

#include "base/text.h"

namespace lodestep::harness {

struct Args::Impl {
  explicit Impl(const std::string& summary) : app(summary) {}
  CLI::App app;
  // An unknown or surplus word, with the nearest known option.
  Status refuse_extras() const;
  std::string command;
  CLI::Option* last = nullptr;
  std::vector<std::string> flags;  // for "did you mean"
  std::vector<std::string> raw_settings;
  Settings* settings = nullptr;
};

Args::Args(const std::string& command, const std::string& summary) : impl_(std::make_unique<Impl>(summary)) {
  impl_->command = command;
  impl_->app.name("lodestep " + command);
  impl_->app.allow_extras();
  impl_->app.option_defaults()->always_capture_default();
}

Args::~Args() = default;

namespace {

// Remembers a flag such as "-k,--hits" by its long name.
std::string long_name(const std::string& flag) {
  const std::size_t comma = flag.rfind(',');
  return comma == std::string::npos ? flag : flag.substr(comma + 1);
}

}  // namespace

Args& Args::option(const std::string& flag, std::string& target, const std::string& help) {
  impl_->flags.push_back(long_name(flag));
  impl_->last = impl_->app.add_option(flag, target, help);
  return *this;
}

Args& Args::option(const std::string& flag, std::int64_t& target, const std::string& help) {
  impl_->flags.push_back(long_name(flag));
  impl_->last = impl_->app.add_option(flag, target, help);
  return *this;
}

Args& Args::option(const std::string& flag, double& target, const std::string& help) {
  impl_->flags.push_back(long_name(flag));
  impl_->last = impl_->app.add_option(flag, target, help);
  return *this;
}

Args& Args::flag(const std::string& flag, bool& target, const std::string& help) {
  impl_->flags.push_back(long_name(flag));
  impl_->last = impl_->app.add_flag(flag, target, help);
  return *this;
}

Args& Args::positional(const std::string& name, std::string& target, const std::string& help) {
  impl_->last = impl_->app.add_option(name, target, help);
  return *this;
}

Args& Args::positionals(const std::string& name, std::vector<std::string>& target, const std::string& help) {
  impl_->last = impl_->app.add_option(name, target, help);
  return *this;
}

Args& Args::settings(Settings& target, const std::string& help) {
  impl_->settings = &target;
  impl_->flags.emplace_back("--set");
  impl_->last = impl_->app.add_option("--set", impl_->raw_settings, help + " (key=value, repeatable)");
  impl_->last->allow_extra_args(false)->type_name("KEY=VALUE");
  return *this;
}

Args& Args::required() {
  impl_->last->required();
  return *this;
}

Args& Args::range(std::int64_t low, std::int64_t high) {
  impl_->last->check(CLI::Range(low, high));
  return *this;
}

Args& Args::footer(const std::string& text) {
  impl_->app.footer(text);
  return *this;
}

bool Args::given(const std::string& flag) const { return impl_->app.count(flag) > 0; }

Status Args::Impl::refuse_extras() const {
  for (const std::string& extra : app.remaining()) {
    if (extra.size() > 1 && extra[0] == '-') {
      const std::string flag = extra.substr(0, extra.find('='));
      const std::string near = nearest_word(flag, flags);
      return Error{ErrorCode::kInvalidArgument,
                   "unknown option '" + flag + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"),
                   "lodestep " + command, "known options: " + join(flags, ", ")};
    }
    return Error{ErrorCode::kInvalidArgument, "unexpected argument '" + extra + "'", "lodestep " + command,
                 "see 'lodestep " + command + " --help'"};
  }
  return {};
}

Result<bool> Args::parse(const std::vector<std::string>& words, Io& io) {
  const std::string see = "see 'lodestep " + impl_->command + " --help'";
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // CLI11 takes them from the back
  try {
    impl_->app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    io.out << impl_->app.help();
    return false;
  } catch (const CLI::ParseError& error) {
    // A misspelt option often shows as a missing one: the misspelt word is the better message.
    if (Status extras = impl_->refuse_extras(); !extras) return extras.error();
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    return Error{ErrorCode::kInvalidArgument, message, "lodestep " + impl_->command, see};
  }
  if (Status extras = impl_->refuse_extras(); !extras) return extras.error();
  for (const std::string& text : impl_->raw_settings) {
    Result<std::pair<std::string, std::string>> setting = parse_setting(text);
    if (!setting) return setting.error();
    impl_->settings->push_back(*setting);
  }
  return true;
}

}  // namespace lodestep::harness
