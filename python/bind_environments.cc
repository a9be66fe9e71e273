// Factories and environments.
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <random>

#include "base/hash.h"
#include "base/rng.h"
#include "python/environment.h"

namespace lodestep::python {

std::uint64_t draw(std::uint64_t seed, const std::string& split, std::uint64_t count) {
  return Stream(Hasher().add("reset").add(split).add_u64(seed).finish()).below(count);
}

Task task_of(const Opened& opened, const Start& start) {
  const EnvFactory& factory = *opened.factory;
  Task task{factory.name(), "", 0};
  if (start.seed) {
    task.seed = *start.seed;
  } else {
    std::random_device entropy;  // reported as task.seed, so that the episode can be played again
    task.seed = ((std::uint64_t{entropy()} << 32) | entropy()) >> 1;
  }
  if (start.task) {
    if (start.split || start.index) {
      raise({ErrorCode::kInvalidArgument, "a task id was given together with a split or an index",
             *start.task, "give one or the other"});
    }
    task.id = *start.task;
    return task;
  }
  const std::string split = start.split ? *start.split : factory.splits().front();
  std::size_t index = 0;
  if (start.index) {
    index = *start.index;
  } else {
    const std::size_t count = value_or_raise(factory.task_count(split));
    if (count == 0) raise({ErrorCode::kBadData, "the split has no tasks", split, ""});
    index = draw(task.seed, split, count);
  }
  task.id = value_or_raise(factory.task_id(split, index));
  return task;
}

namespace {

using harness::Episode;

StepView view_of(const Episode& episode, StepResult result) {
  return {std::move(result), episode.truncated()};
}

Opened open(const std::string& name, const std::string& data, const nb::dict& keywords) {
  const Settings settings = settings_of(keywords);
  Opened opened;
  for (const auto& [key, value] : settings) {
    if (key == "after_done") opened.plays_on = value == "continue";
  }
  Result<FactoryPtr> factory = [&] {
    const nb::gil_scoped_release release;
    return open_environment(name, {data, settings});
  }();
  opened.factory = value_or_raise(std::move(factory));
  opened.type = find_environment_type(name);
  return opened;
}

nb::list environment_types_list() {
  nb::list out;
  for (const EnvType& type : environment_types()) {
    nb::list options;
    for (const OptionSpec& option : type.options) {
      nb::dict row;
      row["name"] = option.name;
      row["default"] = option.default_value;
      row["help"] = option.help;
      row["choices"] = option.choices;
      options.append(row);
    }
    nb::dict row;
    row["name"] = type.name;
    row["summary"] = type.summary;
    row["data"] = type.data;
    row["default_max_steps"] = type.default_max_steps;
    row["options"] = options;
    out.append(row);
  }
  return out;
}

nb::dict details_dict(const Details& details) {
  nb::dict out;
  for (const auto& [key, value] : details) out[key.c_str()] = json_value(value);
  return out;
}

nb::list text_list(const std::vector<std::string>& texts) {
  nb::list out;
  for (const std::string& text : texts) out.append(text_of(text));
  return out;
}

void bind_values(nb::module_& module) {
  nb::class_<Task>(module, "Task", "Names one episode: environment, task id and seed.")
      .def(nb::init<std::string, std::string, std::uint64_t>(), nb::arg("env"), nb::arg("id"),
           nb::arg("seed") = 0)
      .def_ro("env", &Task::env)
      .def_ro("id", &Task::id)
      .def_ro("seed", &Task::seed)
      .def("__repr__", [](const Task& task) {
        return "Task(env='" + task.env + "', id='" + task.id + "', seed=" + std::to_string(task.seed) + ")";
      });
  nb::class_<StateKeys>(module, "StateKeys",
                        "Names of the situation, fine to coarse: exact, relevant, stage.")
      .def_ro("exact", &StateKeys::exact)
      .def_ro("relevant", &StateKeys::relevant)
      .def_ro("stage", &StateKeys::stage)
      .def(
          "__eq__",
          [](const StateKeys& a, nb::handle other) {
            if (!nb::isinstance<StateKeys>(other)) return false;
            const auto& b = nb::cast<const StateKeys&>(other);
            return a.exact == b.exact && a.relevant == b.relevant && a.stage == b.stage;
          },
          nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__", [](const StateKeys& keys) { return nb::hash(text_of(keys.exact)); })
      .def("__repr__", [](const StateKeys& keys) { return "StateKeys(exact='" + keys.exact + "')"; });
  nb::class_<StepView>(module, "Step", "What an agent sees after reset, step or observe.")
      .def_prop_ro("observation", [](const StepView& view) { return text_of(view.result.observation.text); })
      .def_prop_ro(
          "image",
          [](const StepView& view) -> std::optional<nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<3>>> {
            const std::optional<Image>& image = view.result.observation.image;
            if (!image) return std::nullopt;
            return nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<3>>(
                image->rgb.data(), {image->height, image->width, 3}, nb::find(view));
          },
          "Pixels as a read-only uint8 array (height, width, 3) without a copy, or None.")
      .def_prop_ro("reward", [](const StepView& view) { return view.result.reward; })
      .def_prop_ro(
          "outcome", [](const StepView& view) { return outcome_name(view.result.outcome); },
          "\"running\", \"success\" or \"failure\".")
      .def_prop_ro(
          "valid", [](const StepView& view) { return view.result.action_valid; },
          "False: the action was not understood or not applicable.")
      .def_prop_ro(
          "terminated", [](const StepView& view) { return view.result.done(); },
          "The environment ended the episode.")
      .def_prop_ro(
          "truncated", [](const StepView& view) { return view.truncated; }, "The step budget ran out.")
      .def_prop_ro(
          "done", [](const StepView& view) { return view.result.done() || view.truncated; },
          "Terminated or truncated.")
      .def("__repr__", [](const StepView& view) {
        return std::string("Step(outcome='") + outcome_name(view.result.outcome) +
               "', reward=" + std::to_string(view.result.reward) + ")";
      });
}

void bind_factory(nb::module_& module) {
  nb::class_<Opened>(module, "Factory",
                     "An environment with its data and settings, shared by all its episodes.")
      .def_prop_ro("name", [](const Opened& opened) { return opened.factory->name(); })
      .def_prop_ro(
          "version", [](const Opened& opened) { return opened.factory->version(); },
          "Rises whenever any output byte can change.")
      .def_prop_ro(
          "data_digest", [](const Opened& opened) { return to_hex(opened.factory->data_digest()); },
          "Digest of the data and settings that decide outputs.")
      .def_prop_ro("default_max_steps", [](const Opened& opened) { return opened.type->default_max_steps; })
      .def_prop_ro(
          "splits", [](const Opened& opened) { return opened.factory->splits(); },
          "Names of the task lists, the default one first.")
      .def(
          "task_count",
          [](const Opened& opened, const std::string& split) {
            return value_or_raise(opened.factory->task_count(split));
          },
          nb::arg("split"))
      .def(
          "task_id",
          [](const Opened& opened, const std::string& split, std::size_t index) {
            return value_or_raise(opened.factory->task_id(split, index));
          },
          nb::arg("split"), nb::arg("index"))
      .def(
          "make",
          [](const Opened& opened, std::size_t max_steps) {
            return std::make_unique<PyEnvironment>(opened, max_steps);
          },
          nb::arg("max_steps") = 0, "One environment; max_steps = 0 means no step budget.");
  module.def(
      "open_environment", open, nb::arg("name"), nb::arg("data"), nb::arg("settings"),
      nb::sig("def open_environment(name: str, data: str, settings: dict[str, typing.Any]) -> Factory"));
  module.def("environment_types", environment_types_list,
             nb::sig("def environment_types() -> list[dict[str, typing.Any]]"));
  module.def("draw", draw, nb::arg("seed"), nb::arg("split"), nb::arg("count"),
             "The index that a reset with this seed draws from a split of `count` tasks.");
}

}  // namespace

void bind_environments(nb::module_& module) {
  bind_values(module);
  bind_factory(module);
  nb::class_<PyEnvironment>(module, "Environment",
                            "One episode of one environment. Calls from several threads wait for each other.")
      .def(
          "reset",
          [](PyEnvironment& self, std::optional<std::string> task, std::optional<std::uint64_t> seed,
             std::optional<std::string> split, std::optional<std::size_t> index) {
            const Task wanted = task_of(self.opened(), {std::move(task), seed, std::move(split), index});
            return self.alone([&](Episode& episode) {
              check(episode.reset(wanted));
              return view_of(episode, episode.environment().observe());
            });
          },
          nb::arg("task") = nb::none(), nb::kw_only(), nb::arg("seed") = nb::none(),
          nb::arg("split") = nb::none(), nb::arg("index") = nb::none(),
          "Starts an episode: of a task id, of the index-th task of a split, or of a task drawn by the seed. "
          "Without a seed a random one is used; `task` tells which.")
      .def(
          "step",
          [](PyEnvironment& self, nb::handle action) {
            const std::string bytes = bytes_of(action);
            return self.playing([&](Episode& episode) { return view_of(episode, episode.step(bytes)); });
          },
          nb::arg("action"), nb::sig("def step(self, action: str | bytes) -> Step"),
          "Plays one action, any text. After the end nothing changes and the reward is 0.")
      .def(
          "observe",
          [](PyEnvironment& self) {
            return self.playing([](Episode& e) { return view_of(e, e.environment().observe()); });
          },
          "The present situation again.")
      .def(
          "admissible_actions",
          [](PyEnvironment& self) {
            return text_list(self.playing([](Episode& e) { return e.environment().admissible_actions(); }));
          },
          nb::sig("def admissible_actions(self) -> list[str]"),
          "Sorted, unique, each valid now; may be empty.")
      .def(
          "gold_action",
          [](PyEnvironment& self) {
            return self.playing([](Episode& e) { return e.environment().gold_action(); });
          },
          "Next action of a known solution, None where there is none. May search.")
      .def("state_keys",
           [](PyEnvironment& self) {
             return self.playing([](Episode& e) { return e.environment().state_keys(); });
           })
      .def(
          "state_hash",
          [](PyEnvironment& self) {
            return self.playing([](Episode& e) { return to_hex(e.environment().true_state_hash()); });
          },
          "Hash of every fact that can change the future: 32 hex digits.")
      .def(
          "details",
          [](PyEnvironment& self) {
            return details_dict(self.playing([](Episode& e) { return e.environment().details(); }));
          },
          nb::sig("def details(self) -> dict[str, object]"), "Extra facts for logs and adapters.")
      .def(
          "clone",
          [](PyEnvironment& self) {
            Episode copy = self.playing([](Episode& e) { return e.fork(); });
            return std::make_unique<PyEnvironment>(self.opened(), self.max_steps(), std::move(copy));
          },
          "Another environment that stands where this one stands.")
      .def(
          "snapshot",
          [](PyEnvironment& self) {
            const std::string saved = self.playing([](Episode& e) { return e.save(); });
            return nb::bytes(saved.data(), saved.size());
          },
          "The whole situation, step count included, as bytes.")
      .def(
          "restore",
          [](PyEnvironment& self, const nb::bytes& snapshot) {
            const std::string saved(static_cast<const char*>(snapshot.data()), snapshot.size());
            return self.alone([&](Episode& episode) {
              check(episode.load(saved));
              return view_of(episode, episode.environment().observe());
            });
          },
          nb::arg("snapshot"), "Takes over a snapshot; foreign or damaged bytes change nothing.")
      .def_prop_ro("task",
                   [](PyEnvironment& self) { return self.playing([](Episode& e) { return e.task(); }); })
      .def_prop_ro(
          "steps", [](PyEnvironment& self) { return self.alone([](Episode& e) { return e.steps(); }); },
          "Steps of this episode so far.")
      .def_prop_ro(
          "turns_left",
          [](PyEnvironment& self) { return self.alone([](Episode& e) { return e.turns_left(); }); },
          "Of the step budget; 0 when there is none.")
      .def_prop_ro("max_steps", &PyEnvironment::max_steps)
      .def_prop_ro("factory", [](PyEnvironment& self) { return self.opened(); });
}

}  // namespace lodestep::python
