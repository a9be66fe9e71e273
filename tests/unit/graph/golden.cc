#include "golden.h"

#include <rapidjson/document.h>

#include <map>

#include "base/check.h"
#include "base/text.h"
#include "tests/support/shared_data.h"

namespace lodestep::test {
namespace {

using rapidjson::Value;

std::string text_of(const Value& value) {
  if (value.IsString()) return {value.GetString(), value.GetStringLength()};
  std::string out = "(";
  for (rapidjson::SizeType i = 0; i < value.Size(); ++i) {
    if (i > 0) out += ", ";
    out += std::to_string(value[i].GetInt());
  }
  return out + (value.Size() == 1 ? ",)" : ")");
}

std::string setting_of(const Value& value) {
  if (value.IsString()) return value.GetString();
  if (value.IsBool()) return value.GetBool() ? "true" : "false";
  if (value.IsNull()) return "null";
  return json_number(value.GetDouble());
}

std::vector<double> numbers(const Value& list) {
  std::vector<double> out;
  for (const Value& x : list.GetArray()) out.push_back(x.GetDouble());
  return out;
}

std::map<std::string, std::vector<double>> columns(const Value& expected) {
  std::map<std::string, std::vector<double>> out;
  for (const auto& member : expected.GetObject()) {
    const std::string name = member.name.GetString();
    if (name == "graph" || name == "node_of_anchor" || name == "node_of_next" || member.value.IsNull())
      continue;
    out[name] = numbers(member.value);
  }
  return out;
}

struct Interner {
  std::map<std::string, graph::Id> ids;
  graph::Id operator()(const std::string& text) {
    return ids.emplace(text, static_cast<graph::Id>(ids.size())).first->second;
  }
};

GoldenCase read_case(const Value& c) {
  GoldenCase out;
  out.name = c["name"].GetString();
  out.request.estimator = c["estimator"].GetString();
  if (out.request.estimator == "graphgpo") out.request.preset = "released";
  for (const auto& p : c["params"].GetObject()) {
    out.request.settings.emplace_back(p.name.GetString(), setting_of(p.value));
  }
  std::vector<graph::Id> id_of_index;
  std::map<std::string, graph::Id> id_of_text;
  for (const Value& state : c["states"].GetArray()) {
    out.texts.push_back(text_of(state));
    const auto id = static_cast<graph::Id>(out.texts.size() - 1);
    id_of_text.emplace(out.texts.back(), id);
    id_of_index.push_back(id_of_text[out.texts.back()]);
  }
  if (id_of_text.count("success") == 0) {
    id_of_text["success"] = static_cast<graph::Id>(out.texts.size());
    out.texts.push_back("success");
  }
  out.batch.goal_state = id_of_text["success"];
  Interner tasks, episodes, actions;
  for (const Value& s : c["steps"].GetArray()) {
    graph::Step step;
    step.task = tasks(s["uid"].GetString());
    step.episode = episodes(s["traj"].GetString());
    step.t = s["t"].GetInt();
    step.state = id_of_index[s["anchor"].GetUint()];
    step.next_state = id_of_index[s["next_anchor"].GetUint()];
    step.reward = s["reward"].GetDouble();
    step.episode_reward = s["episode_reward"].GetDouble();
    step.valid = s["valid_action"].GetBool();
    step.active = s["active"].GetBool();
    step.done = s["done"].GetBool();
    step.tokens = s["response_len"].GetInt();
    if (s.HasMember("action")) step.action = actions(s["action"].GetString());
    if (s.HasMember("cost")) step.cost = s["cost"].GetDouble();
    out.batch.add(step);
  }
  const Value& exact = c.HasMember("expected_f64") ? c["expected_f64"] : c["expected"];
  out.exact = columns(exact);
  out.expected = columns(c["expected"]);
  const auto state_id = [&](const Value& node) {
    return node.IsString() ? id_of_text.at(node.GetString()) : id_of_index[node.GetUint()];
  };
  if (exact.HasMember("graph")) {
    for (const Value& graph : exact["graph"].GetArray()) {
      GoldenGraph golden;
      for (const Value& node : graph["nodes"].GetArray()) golden.state.push_back(state_id(node));
      golden.distance = numbers(graph["distance"]);
      out.graphs.push_back(golden);
    }
    for (const Value& node : exact["node_of_anchor"].GetArray()) out.node_of_state.push_back(state_id(node));
    for (const Value& node : exact["node_of_next"].GetArray()) out.node_of_next.push_back(state_id(node));
  }
  if (c.HasMember("rounding_sensitive")) {
    for (const auto& member : c["rounding_sensitive"].GetObject()) {
      for (const Value& i : member.value.GetArray()) {
        out.rounding_sensitive[member.name.GetString()].push_back(i.GetUint());
      }
    }
  }
  return out;
}

}  // namespace

std::vector<GoldenCase> golden_cases(const std::string& file) {
  const auto text = read_shared(file);
  if (!text) {
    skip(file);
    return {};
  }
  rapidjson::Document document;
  document.Parse<rapidjson::kParseFullPrecisionFlag>(text->data(), text->size());
  LODESTEP_CHECK(!document.HasParseError(), file);
  std::vector<GoldenCase> cases;
  for (const Value& c : document["cases"].GetArray()) cases.push_back(read_case(c));
  return cases;
}

}  // namespace lodestep::test
