#include "harness/episode.h"

#include <optional>
#include <utility>

#include "base/text.h"

namespace lodestep::harness {
namespace {

constexpr std::string_view kFormat = "lodestep-episode/1";

void put(std::string& out, std::string_view field) {
  out += std::to_string(field.size());
  out += ':';
  out += field;
}

// Reads one "SIZE:bytes" field from the front of `text`.
std::optional<std::string_view> take(std::string_view& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon > 12) return std::nullopt;
  const std::optional<std::uint64_t> size = parse_uint(text.substr(0, colon));
  if (!size || *size > text.size() - colon - 1) return std::nullopt;
  const std::string_view field = text.substr(colon + 1, *size);
  text.remove_prefix(colon + 1 + *size);
  return field;
}

}  // namespace

Episode::Episode(std::unique_ptr<Environment> environment, std::size_t max_steps, bool plays_on)
    : environment_(std::move(environment)), max_steps_(max_steps), plays_on_(plays_on) {}

Status Episode::reset(const Task& task) {
  if (Status status = environment_->reset(task); !status) return status;
  task_ = task;
  steps_ = 0;
  started_ = true;
  truncated_ = false;
  done_ = environment_->observe().done();
  return {};
}

StepResult Episode::step(std::string_view action) {
  if (ended() && !plays_on_) return environment_->observe();
  StepResult result = environment_->step(action);
  done_ = plays_on_ ? environment_->observe().done() : result.done();
  // A budget counts every turn. An episode that plays on replays an original, whose own limit counts as it
  // does and compares with ==: it is cut exactly once.
  const bool counts = result.counted || !plays_on_;
  if (counts) ++steps_;
  truncated_ = counts && max_steps_ != 0 && steps_ == max_steps_ && !result.done();
  return result;
}

std::size_t Episode::turns_left() const { return max_steps_ > steps_ ? max_steps_ - steps_ : 0; }

std::string Episode::save() const {
  const Snapshot snapshot = environment_->snapshot();
  std::string out(kFormat);
  out += '\n';
  put(out, snapshot.task.env);
  put(out, snapshot.task.id);
  put(out, std::to_string(snapshot.task.seed));
  put(out, std::to_string(snapshot.version));
  put(out, std::to_string(steps_));
  put(out, snapshot.bytes);
  return out;
}

Status Episode::load(std::string_view saved) {
  const Error foreign{ErrorCode::kBadData, "not a snapshot of this environment and version", "", ""};
  const std::string head = std::string(kFormat) + '\n';
  if (!saved.starts_with(head)) return foreign;
  saved.remove_prefix(head.size());
  const auto env = take(saved);
  const auto id = env ? take(saved) : std::nullopt;
  const auto seed = id ? take(saved) : std::nullopt;
  const auto version = seed ? take(saved) : std::nullopt;
  const auto steps = version ? take(saved) : std::nullopt;
  const auto bytes = steps ? take(saved) : std::nullopt;
  if (!bytes || !saved.empty()) return foreign;
  const auto seed_number = parse_uint(*seed);
  const auto version_number = parse_uint(*version);
  const auto step_number = parse_uint(*steps);
  if (!seed_number || !version_number || *version_number > 0xffffffffULL || !step_number) return foreign;
  Snapshot snapshot{{std::string(*env), std::string(*id), *seed_number},
                    static_cast<std::uint32_t>(*version_number),
                    std::string(*bytes)};
  if (Status status = environment_->restore(snapshot); !status) return status;
  task_ = std::move(snapshot.task);
  steps_ = *step_number;
  started_ = true;
  done_ = environment_->observe().done();
  truncated_ = max_steps_ != 0 && steps_ >= max_steps_ && !done_;
  return {};
}

Episode Episode::fork() const {
  Episode copy(environment_->clone(), max_steps_, plays_on_);
  copy.task_ = task_;
  copy.steps_ = steps_;
  copy.started_ = started_;
  copy.truncated_ = truncated_;
  copy.done_ = done_;
  return copy;
}

}  // namespace lodestep::harness
