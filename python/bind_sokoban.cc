// Thousands of Sokoban boards as numpy planes, stepped in place.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "envs/sokoban/batch.h"
#include "python/convert.h"
#include "python/crew.h"

namespace lodestep::python {
namespace {

using sokoban::Level;

sokoban::Autoreset autoreset_of(const std::string& name) {
  if (name == "next_step") return sokoban::Autoreset::kNextStep;
  if (name == "same_step") return sokoban::Autoreset::kSameStep;
  if (name == "disabled") return sokoban::Autoreset::kDisabled;
  raise({ErrorCode::kInvalidArgument, "unknown autoreset '" + name + "'", "Boards",
         "known: next_step, same_step, disabled"});
}

std::vector<Level> levels_of(const std::vector<std::string>& boards) {
  std::vector<Level> levels;
  for (const std::string& board : boards) {
    std::vector<std::string> rows;
    for (const std::string_view row : split(board, '/')) rows.emplace_back(row);
    levels.push_back(value_or_raise(sokoban::level_from_rows(rows)));
  }
  return levels;
}

// A batch with its buffers, which Python sees without a copy and every call overwrites.
class Boards {
 public:
  Boards(const std::vector<std::string>& levels, std::size_t count, std::uint32_t max_steps,
         const std::string& autoreset, const std::string& rewards, std::size_t threads)
      : batch_(value_or_raise(sokoban::Batch::make(
            levels_of(levels), {.boards = count,
                                .max_steps = max_steps,
                                .autoreset = autoreset_of(autoreset),
                                .rewards = rewards == "sparse" ? sokoban::BatchRewards::kSparse
                                                               : sokoban::BatchRewards::kGym}))),
        threads_(
            std::clamp<std::size_t>(threads == 0 ? std::thread::hardware_concurrency() : threads, 1, count)),
        crew_(threads_),
        plane_bytes_(batch_.observation_bytes(sokoban::ObservationKind::kPlanes)),
        planes_(count * plane_bytes_),
        last_planes_(count * plane_bytes_),
        rewards_(count),
        terminated_(count),
        truncated_(count) {
    batch_.bind_planes(planes_.data());
    batch_.write(sokoban::ObservationKind::kPlanes, planes_.data(), 0, count);
  }

  std::size_t size() const { return batch_.boards(); }

  void reset() {
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    batch_.reset();
    clear();
  }

  void reset_board(std::size_t board, std::size_t level) {
    require(board);
    batch_.reset_board(board, level);
    rewards_[board] = 0;
    terminated_[board] = truncated_[board] = 0;
  }

  void set_next(std::size_t board, std::size_t level) {
    require(board);
    batch_.set_next(board, level);
  }

  void step(const nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>& actions) {
    if (actions.shape(0) != size()) {
      raise({ErrorCode::kInvalidArgument,
             std::to_string(actions.shape(0)) + " actions for " + std::to_string(size()) + " boards",
             "Boards", ""});
    }
    const std::uint8_t* action = actions.data();
    for (std::size_t i = 0; i < size(); ++i) {  // before any thread begins: all or nothing
      if (action[i] > 4) {
        raise({ErrorCode::kInvalidArgument,
               "action " + std::to_string(action[i]) + " of board " + std::to_string(i), "Boards",
               "actions are 0 (nothing) to 4: up, down, left, right"});
      }
    }
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    const std::size_t share = (size() + threads_ - 1) / threads_;
    crew_.each(threads_, [&](std::size_t k) {
      const std::size_t first = std::min(k * share, size());
      const std::size_t count = std::min(share, size() - first);
      if (count == 0) return;
      check(batch_.step(action + first,
                        {rewards_.data() + first, terminated_.data() + first, truncated_.data() + first,
                         last_planes_.data() + first * plane_bytes_},
                        first, count));
    });
  }

  template <typename T>
  nb::ndarray<nb::numpy, const T, nb::ndim<1>> column(const std::vector<T>& values) const {
    return {values.data(), {values.size()}, nb::find(*this)};
  }
  nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<4>> view(
      const std::vector<std::uint8_t>& planes) const {
    return {planes.data(),
            {size(), 4, static_cast<std::size_t>(batch_.rows()), static_cast<std::size_t>(batch_.cols())},
            nb::find(*this)};
  }

  const sokoban::Batch& batch() const { return batch_; }
  const std::vector<std::uint8_t>& planes() const { return planes_; }
  const std::vector<std::uint8_t>& last_planes() const { return last_planes_; }
  const std::vector<float>& rewards() const { return rewards_; }
  const std::vector<std::uint8_t>& terminated() const { return terminated_; }
  const std::vector<std::uint8_t>& truncated() const { return truncated_; }

 private:
  void require(std::size_t board) const {
    if (board >= size())
      raise({ErrorCode::kInvalidArgument, "there is no board " + std::to_string(board), "Boards", ""});
  }
  void clear() {
    std::fill(rewards_.begin(), rewards_.end(), 0.0F);
    std::fill(terminated_.begin(), terminated_.end(), std::uint8_t{0});
    std::fill(truncated_.begin(), truncated_.end(), std::uint8_t{0});
  }

  std::mutex mutex_;
  sokoban::Batch batch_;
  std::size_t threads_;
  Crew crew_;
  std::size_t plane_bytes_;
  std::vector<std::uint8_t> planes_, last_planes_;
  std::vector<float> rewards_;
  std::vector<std::uint8_t> terminated_, truncated_;
};

}  // namespace

void bind_sokoban(nb::module_& module) {
  nb::class_<Boards>(
      module, "Boards",
      "Sokoban boards as planes, stepped in place by native threads with the GIL released. The arrays are "
      "views that every call overwrites.")
      .def(nb::init<const std::vector<std::string>&, std::size_t, std::uint32_t, const std::string&,
                    const std::string&, std::size_t>(),
           nb::arg("levels"), nb::arg("count"), nb::arg("max_steps"), nb::arg("autoreset"),
           nb::arg("rewards"), nb::arg("threads"), "levels: rows of XSB characters joined by '/'.")
      .def("__len__", &Boards::size)
      .def("reset", &Boards::reset, "All boards, each to its next level.")
      .def("reset_board", &Boards::reset_board, nb::arg("board"), nb::arg("level"))
      .def("set_next", &Boards::set_next, nb::arg("board"), nb::arg("level"),
           "The level of the board's next reset; used once.")
      .def("step", &Boards::step, nb::arg("actions"), "uint8 (n,): 0 nothing, 1 to 4 up, down, left, right.")
      .def(
          "level_of", [](const Boards& boards, std::size_t board) { return boards.batch().level_of(board); },
          nb::arg("board"))
      .def_prop_ro(
          "planes", [](const Boards& boards) { return boards.view(boards.planes()); },
          "uint8 (n, 4, rows, columns), 0 or 1: walls, targets, boxes, player.")
      .def_prop_ro(
          "final_planes", [](const Boards& boards) { return boards.view(boards.last_planes()); },
          "The last position of boards that ended in this step (same_step).")
      .def_prop_ro(
          "rewards", [](const Boards& boards) { return boards.column(boards.rewards()); }, "float32 (n,)")
      .def_prop_ro(
          "terminated", [](const Boards& boards) { return boards.column(boards.terminated()); }, "uint8 (n,)")
      .def_prop_ro(
          "truncated", [](const Boards& boards) { return boards.column(boards.truncated()); }, "uint8 (n,)");
}

}  // namespace lodestep::python
