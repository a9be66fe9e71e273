// A service over the dummy environment with a clock that stands still, and shortcuts to talk to it without
// sockets.
#pragma once

#include <rapidjson/document.h>

#include <memory>
#include <string>

#include "envs/factory.h"
#include "harness/server/application.h"
#include "harness/server/clock.h"

namespace lodestep::harness {

inline HostedEnvironment hosted(const std::string& name) {
  const EnvType* type = find_environment_type(name);
  LODESTEP_CHECK(type != nullptr, name);
  return {name, type->summary, *open_environment(name, {}), type->default_max_steps};
}

struct TestServer {
  explicit TestServer(Limits limits = {}, Recorder* recorder = nullptr, std::vector<std::string> tokens = {},
                      std::string graph_store = {})
      : service({{hosted("dummy"), hosted("sokoban"), hosted("webshop"), hosted("alfworld")},
                 limits,
                 recorder,
                 0,
                 "test",
                 {},
                 false,
                 std::move(graph_store)},
                clock),
        application(service, std::move(tokens)) {}

  HttpResponse get(const std::string& target) { return application.handle({"GET", target, ""}); }
  HttpResponse post(const std::string& target, const std::string& body) {
    return application.handle({"POST", target, body});
  }
  std::unique_ptr<SocketHandler> socket(const std::string& target) {
    HttpResponse refusal;
    return application.open_socket({"GET", target, ""}, refusal);
  }

  FakeClock clock;
  Service service;
  Application application;
};

inline rapidjson::Document json(const std::string& text) {
  rapidjson::Document document;
  document.Parse(text.c_str(), text.size());
  if (document.HasParseError()) throw std::runtime_error("not JSON: " + text);
  return document;
}

// "a.b.0" -> the member as JSON text; "" when it is absent.
std::string at(const std::string& text, const std::string& path);

}  // namespace lodestep::harness
