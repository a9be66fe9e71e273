// Finds every way to give the variables of forms values, over the facts of a store.
//   InstanceSearch search(problem, store, forms, [&](std::uint32_t form, const Binding& b) { ...; return
//   nullptr; }); if (const char* why = search.reach()) ...   // given up
// Threads: one at a time. Keeps references to problem, store and forms. Internal to ground.cc.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "envs/alfworld_bridge/fact_store.h"
#include "envs/alfworld_bridge/form.h"

namespace lodestep::alfworld {

class InstanceSearch {
 public:
  // Takes one instance: the form's number and the values of its variables. May add facts to the store.
  // Returns nullptr, or why the search must end.
  using Found = std::function<const char*(std::uint32_t form, const Binding& binding)>;

  InstanceSearch(const Problem& problem, const FactStore& store, const std::vector<Form>& forms, Found found);

  // Both return nullptr, or why the search was given up.
  // Reachability: instances over all facts that are in the store or that `found` adds on the way, as if
  // nothing were ever taken away. Each is found once: at its newest fact.
  const char* reach();
  // Instances over the facts in the store.
  const char* match_all();

 private:
  // The order in which a form's claims are looked at once the trigger's variables have values: tests as
  // soon as they can be made, otherwise the claim with the fewest candidates.
  struct Step {
    std::uint16_t claim = 0;
    bool test = false;        // all arguments known by then
    std::uint16_t known = 0;  // otherwise: an argument known by then, kMaxArity if there is none
  };
  struct Plan {
    std::vector<Step> steps;
    std::vector<std::uint16_t> loose;  // variables that no claim gives a value
    std::vector<std::uint16_t> late;   // tests that wait for those
  };

  Plan make_plan(const Form& form, std::int32_t trigger) const;
  bool match(std::uint32_t f, std::int32_t trigger, std::int32_t fact);
  bool type_fits(const Form& form, std::size_t variable, Id constant) const;
  bool unify(const Form& form, const Claim& claim, const Args& args, Binding& binding) const;
  bool join(const Form& form, std::uint32_t f, std::size_t at, Binding& binding);
  bool in_time(const Claim& claim, std::size_t index, std::int32_t fact) const;
  bool passes(const Claim& claim, const Binding& binding, std::size_t index) const;
  bool extend(const Form& form, std::uint32_t f, std::size_t at, Binding& binding);
  bool fill(const Form& form, std::uint32_t f, std::size_t at, Binding& binding);
  bool give_up();

  const Problem& problem_;
  const FactStore& store_;
  const std::vector<Form>& forms_;
  Found found_;
  std::vector<std::vector<std::optional<Plan>>> plans_;  // by form and trigger + 1
  const Plan* plan_ = nullptr;                           // of the search under way
  std::int32_t trigger_ = -1, trigger_fact_ = -1;
  std::size_t work_ = 0;
  const char* failure_ = nullptr;
};

}  // namespace lodestep::alfworld
