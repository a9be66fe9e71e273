// Many episodes stepped together: texts in, arrays out.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "python/crew.h"
#include "python/environment.h"

namespace lodestep::python {
namespace {

using harness::Episode;

template <typename T>
using Column = nb::ndarray<nb::numpy, const T, nb::ndim<1>, nb::c_contig>;
using Images = nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<4>, nb::c_contig>;
using Mask = std::optional<nb::ndarray<const bool, nb::ndim<1>, nb::device::cpu>>;

// Episodes of one factory in lockstep. The arrays are written in place by every call, and Python sees them
// without a copy.
class Batch {
 public:
  Batch(Opened opened, std::size_t size, std::size_t max_steps, std::size_t threads)
      : opened_(std::move(opened)),
        max_steps_(max_steps),
        crew_(std::clamp<std::size_t>(threads == 0 ? std::thread::hardware_concurrency() : threads, 1, size)),
        texts_(size),
        rewards_(size),
        steps_(size),
        terminated_(std::make_unique<bool[]>(size)),
        truncated_(std::make_unique<bool[]>(size)),
        valid_(std::make_unique<bool[]>(size)),
        success_(std::make_unique<bool[]>(size)) {
    for (std::size_t i = 0; i < size; ++i) {
      episodes_.push_back(std::make_unique<Episode>(opened_.factory->make(), max_steps, opened_.plays_on));
    }
  }

  std::size_t size() const { return episodes_.size(); }
  const Opened& opened() const { return opened_; }

  // Starts episodes: all, or those of the mask. All or none: a bad task changes nothing.
  void reset(const std::vector<std::string>& tasks, const std::vector<std::uint64_t>& seeds,
             const Mask& mask) {
    const std::vector<std::size_t> members = members_of(mask);
    require_length(tasks.size(), "tasks");
    require_length(seeds.size(), "seeds");
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    std::vector<std::unique_ptr<Episode>> fresh(members.size());
    crew_.each(members.size(), [&](std::size_t k) {
      fresh[k] = std::make_unique<Episode>(opened_.factory->make(), max_steps_, opened_.plays_on);
      const std::size_t i = members[k];
      check(fresh[k]->reset({opened_.factory->name(), tasks[i], seeds[i]}));
    });
    for (std::size_t k = 0; k < members.size(); ++k) {
      episodes_[members[k]] = std::move(fresh[k]);
      show(members[k], episodes_[members[k]]->environment().observe());
    }
  }

  // One step each; members without an action (None) stand still and show their present state.
  void step(const nb::sequence& actions) {
    std::vector<std::optional<std::string>> texts;
    for (const nb::handle action : actions) {
      texts.push_back(action.is_none() ? std::nullopt : std::optional(bytes_of(action)));
    }
    require_length(texts.size(), "actions");
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < size(); ++i) {
      if (texts[i]) require_started(i);
    }
    crew_.each(size(), [&](std::size_t i) {
      if (texts[i]) {
        show(i, episodes_[i]->step(*texts[i]));
      } else if (episodes_[i]->started()) {
        show(i, episodes_[i]->environment().observe());
      }
    });
  }

  // ask(environment) of every member, in order; without the GIL.
  template <typename Ask>
  auto ask(Ask question) {
    using Answer = decltype(question(episodes_[0]->environment()));
    std::vector<Answer> answers(size());
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < size(); ++i) require_started(i);
    crew_.each(size(), [&](std::size_t i) { answers[i] = question(episodes_[i]->environment()); });
    return answers;
  }

  std::string save(std::size_t i) {
    require_member(i);
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    require_started(i);
    return episodes_[i]->save();
  }

  void load(std::size_t i, const std::string& saved) {
    require_member(i);
    const nb::gil_scoped_release release;
    const std::lock_guard lock(mutex_);
    check(episodes_[i]->load(saved));
    show(i, episodes_[i]->environment().observe());
  }

  Task task(std::size_t i) {
    require_member(i);
    return episodes_[i]->task();
  }

  const std::vector<std::string>& texts() const { return texts_; }
  template <typename T>
  Column<T> column(const T* data) const {
    return Column<T>(data, {size()}, nb::find(*this));
  }
  Column<double> rewards() const { return column(rewards_.data()); }
  Column<std::int64_t> steps() const { return column(steps_.data()); }
  Column<bool> terminated() const { return column(terminated_.get()); }
  Column<bool> truncated() const { return column(truncated_.get()); }
  Column<bool> valid() const { return column(valid_.get()); }
  Column<bool> success() const { return column(success_.get()); }
  std::optional<Images> images() const {
    if (pixels_.empty()) return std::nullopt;
    return Images(pixels_.data(), {size(), height_, width_, 3}, nb::find(*this));
  }

 private:
  std::vector<std::size_t> members_of(const Mask& mask) const {
    if (mask) require_length(mask->shape(0), "mask");
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < size(); ++i) {
      if (!mask || (*mask)(i)) members.push_back(i);
    }
    return members;
  }

  void require_length(std::size_t length, const std::string& what) const {
    if (length == size()) return;
    raise({ErrorCode::kInvalidArgument,
           std::to_string(length) + " " + what + " for " + std::to_string(size()) + " episodes",
           opened_.factory->name(), "give one for each"});
  }

  void require_member(std::size_t i) const {
    if (i < size()) return;
    raise({ErrorCode::kInvalidArgument, "there is no member " + std::to_string(i), opened_.factory->name(),
           "members are 0.." + std::to_string(size() - 1)});
  }

  void require_started(std::size_t i) const {
    if (episodes_[i]->started()) return;
    raise({ErrorCode::kInvalidArgument, "no episode has begun", "member " + std::to_string(i),
           "call reset() first"});
  }

  void show(std::size_t i, StepResult result) {
    texts_[i] = std::move(result.observation.text);
    rewards_[i] = result.reward;
    steps_[i] = static_cast<std::int64_t>(episodes_[i]->steps());
    terminated_[i] = result.done();
    truncated_[i] = episodes_[i]->truncated();
    valid_[i] = result.action_valid;
    success_[i] = result.outcome == Outcome::kSuccess;
    if (result.observation.image) show_image(i, *result.observation.image);
  }

  void show_image(std::size_t i, const Image& image) {
    {
      const std::lock_guard lock(image_mutex_);
      if (pixels_.empty()) {
        height_ = image.height;
        width_ = image.width;
        pixels_.resize(size() * image.rgb.size());
      }
    }
    if (image.height != height_ || image.width != width_) {
      raise({ErrorCode::kUnsupported, "a batch shows images of one size", "member " + std::to_string(i),
             "use tasks of one size, or turn images off"});
    }
    std::copy(image.rgb.begin(), image.rgb.end(),
              pixels_.begin() + static_cast<std::ptrdiff_t>(i * image.rgb.size()));
  }

  Opened opened_;
  std::size_t max_steps_;
  std::mutex mutex_;
  std::mutex image_mutex_;
  Crew crew_;
  std::vector<std::unique_ptr<Episode>> episodes_;
  std::vector<std::string> texts_;
  std::vector<double> rewards_;
  std::vector<std::int64_t> steps_;
  std::unique_ptr<bool[]> terminated_, truncated_, valid_, success_;
  std::size_t height_ = 0, width_ = 0;
  std::vector<std::uint8_t> pixels_;
};

nb::list lists_of_texts(const std::vector<std::vector<std::string>>& rows) {
  nb::list out;
  for (const std::vector<std::string>& row : rows) {
    nb::list texts;
    for (const std::string& text : row) texts.append(text_of(text));
    out.append(texts);
  }
  return out;
}

nb::list details_list(const std::vector<Details>& rows) {
  nb::list out;
  for (const Details& row : rows) {
    nb::dict facts;
    for (const auto& [key, value] : row) facts[key.c_str()] = json_value(value);
    out.append(facts);
  }
  return out;
}

}  // namespace

void bind_batches(nb::module_& module) {
  nb::class_<Batch>(
      module, "Batch",
      "Episodes of one environment in lockstep, stepped by native threads with the GIL released. The "
      "arrays are views of native memory that every call overwrites: copy what you keep.")
      .def(
          "__init__",
          [](Batch* self, const Opened& opened, std::size_t size, std::size_t max_steps,
             std::size_t threads) {
            if (size == 0)
              raise({ErrorCode::kInvalidArgument, "a batch needs at least one episode", "size", ""});
            new (self) Batch(opened, size, max_steps, threads);
          },
          nb::arg("factory"), nb::arg("size"), nb::arg("max_steps") = 0, nb::arg("threads") = 0,
          "max_steps = 0: no step budget. threads = 0: one per core.")
      .def("__len__", &Batch::size)
      .def("reset", &Batch::reset, nb::arg("tasks"), nb::arg("seeds"), nb::arg("mask") = nb::none(),
           "Starts the episodes of the mask, by default all, each with its task id and seed.")
      .def("step", &Batch::step, nb::arg("actions"),
           nb::sig("def step(self, actions: Sequence[str | bytes | None]) -> None"),
           "One action each; None: that member stands still. Ended members do not change.")
      .def_prop_ro(
          "observations",
          [](const Batch& batch) {
            nb::list out;
            for (const std::string& text : batch.texts()) out.append(text_of(text));
            return out;
          },
          nb::sig("def observations(self) -> list[str]"))
      .def_prop_ro("images", &Batch::images,
                   "uint8 (n, height, width, 3), or None where there are no images.")
      .def_prop_ro("rewards", &Batch::rewards, "float64 (n,) of the last step.")
      .def_prop_ro("steps", &Batch::steps, "int64 (n,): steps of each episode so far.")
      .def_prop_ro("terminated", &Batch::terminated, "bool (n,): the environment ended.")
      .def_prop_ro("truncated", &Batch::truncated, "bool (n,): the step budget ran out.")
      .def_prop_ro("valid", &Batch::valid, "bool (n,): the last action was understood and applicable.")
      .def_prop_ro("success", &Batch::success, "bool (n,): ended in success.")
      .def(
          "admissible_actions",
          [](Batch& batch) {
            return lists_of_texts(batch.ask([](const Environment& e) { return e.admissible_actions(); }));
          },
          nb::sig("def admissible_actions(self) -> list[list[str]]"))
      .def("gold_actions",
           [](Batch& batch) { return batch.ask([](const Environment& e) { return e.gold_action(); }); })
      .def("state_keys",
           [](Batch& batch) { return batch.ask([](const Environment& e) { return e.state_keys(); }); })
      .def("state_hashes",
           [](Batch& batch) {
             return batch.ask([](const Environment& e) { return to_hex(e.true_state_hash()); });
           })
      .def(
          "details",
          [](Batch& batch) {
            return details_list(batch.ask([](const Environment& e) { return e.details(); }));
          },
          nb::sig("def details(self) -> list[dict[str, object]]"))
      .def("task", &Batch::task, nb::arg("member"))
      .def(
          "snapshot",
          [](Batch& batch, std::size_t member) {
            const std::string saved = batch.save(member);
            return nb::bytes(saved.data(), saved.size());
          },
          nb::arg("member"))
      .def(
          "restore",
          [](Batch& batch, std::size_t member, const nb::bytes& snapshot) {
            batch.load(member, {static_cast<const char*>(snapshot.data()), snapshot.size()});
          },
          nb::arg("member"), nb::arg("snapshot"), "Puts one member where a snapshot stands.")
      .def_prop_ro("factory", [](const Batch& batch) { return batch.opened(); });
}

}  // namespace lodestep::python
