// Batches of page views for tests; a Batch owns the text its views point to.
//   Batch batch;
//   batch.add("group", "episode", "text").actions = batch.actions({"look"});
// Threads: one.
#pragma once

#include <catch2/catch.hpp>

#include <deque>
#include <string>
#include <vector>

#include "canonicalizer/registry.h"

namespace lodestep::canonicalizer::testing {

struct Batch {
  std::vector<PageView> views;
  std::deque<std::string> texts;
  std::deque<std::vector<std::string>> action_lists;

  std::string_view keep(std::string text) { return texts.emplace_back(std::move(text)); }
  std::span<const std::string> actions(std::vector<std::string> list) {
    return action_lists.emplace_back(std::move(list));
  }
  PageView& add(std::string group, std::string trajectory, std::string text) {
    PageView view;
    view.group = keep(std::move(group));
    view.trajectory = keep(std::move(trajectory));
    view.text = keep(std::move(text));
    return views.emplace_back(view);
  }
};

inline std::vector<std::uint32_t> clusters(const std::string& name, const Settings& settings,
                                           const Batch& batch) {
  Result<std::unique_ptr<Matcher>> matcher = MatcherRegistry().make(name, settings);
  REQUIRE(matcher);
  Result<Matching> matching = (*matcher)->match(batch.views);
  REQUIRE(matching);
  REQUIRE(matching->keys.size() == batch.views.size());
  return number_by_first_appearance(matching->keys);
}

}  // namespace lodestep::canonicalizer::testing
