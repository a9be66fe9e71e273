#include "harness/recorder.h"

#include <algorithm>
#include <mutex>

#include "harness/branching.h"

namespace lodestep::harness {

struct MemoryRecorder::Impl {
  std::mutex mutex;
  Recording recording;
};

MemoryRecorder::MemoryRecorder(RunInfo info) : impl_(std::make_unique<Impl>()) {
  impl_->recording.info = std::move(info);
}

MemoryRecorder::~MemoryRecorder() = default;

Status MemoryRecorder::add(EpisodeRecord episode) {
  const std::lock_guard lock(impl_->mutex);
  impl_->recording.episodes.push_back(std::move(episode));
  return {};
}

Status MemoryRecorder::add_estimate(const Estimate& estimate) {
  const std::lock_guard lock(impl_->mutex);
  std::erase_if(impl_->recording.estimates, [&](const Estimate& e) { return e.name == estimate.name; });
  impl_->recording.estimates.push_back(estimate);
  return {};
}

Status MemoryRecorder::set_info(const std::string& key, const std::string& value) {
  const std::lock_guard lock(impl_->mutex);
  impl_->recording.info[key] = value;
  return {};
}

Recording MemoryRecorder::take() {
  const std::lock_guard lock(impl_->mutex);
  auto& episodes = impl_->recording.episodes;
  std::sort(episodes.begin(), episodes.end(), [](const EpisodeRecord& a, const EpisodeRecord& b) {
    return a.group != b.group ? a.group < b.group : a.member < b.member;
  });
  mark_branches(impl_->recording);
  return std::move(impl_->recording);
}

}  // namespace lodestep::harness
