#include "harness/recording.h"

namespace lodestep::harness {

const char* episode_status_name(EpisodeStatus status) {
  switch (status) {
    case EpisodeStatus::kFinished: return "finished";
    case EpisodeStatus::kFailed: return "failed";
    case EpisodeStatus::kAbandoned: return "abandoned";
    case EpisodeStatus::kFiltered: return "filtered";
  }
  return "finished";
}

double EpisodeRecord::total_reward() const {
  double total = 0;
  for (const StepRecord& step : steps) total += step.reward;
  return total;
}

std::size_t Recording::steps() const {
  std::size_t count = 0;
  for (const EpisodeRecord& episode : episodes) count += episode.steps.size();
  return count;
}

}  // namespace lodestep::harness
