// `lodestep serve`: environments over HTTP and WebSocket.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <ostream>
#include <thread>

#include "base/text.h"
#include "harness/graph_store.h"
#include "harness/internal/args.h"
#include "harness/internal/commands.h"
#include "harness/internal/interrupt.h"
#include "harness/recorder.h"
#include "harness/server/application.h"
#include "harness/server/groups.h"
#include "harness/server/internal/log.h"
#include "harness/server/socket_server.h"

namespace lodestep::harness {
namespace {

struct ServeArgs {
  std::string environments, data, host = "127.0.0.1", token_file, record, graph_store, tls_cert, tls_key,
                                  log_level = "info";
  Settings settings;
  std::int64_t port = 8000, max_sessions = static_cast<std::int64_t>(default_max_sessions()),
               max_sessions_per_client = 0;
  std::int64_t session_timeout = Limits().session_idle_seconds, max_steps = -1, threads = 0, workers = 0;
  double step_timeout = static_cast<double>(Limits().step_milliseconds) / 1000,
         stop_timeout = static_cast<double>(Limits().stop_milliseconds) / 1000, session_wait = 0,
         ping_interval = static_cast<double>(Limits().ping_milliseconds) / 1000;
  double half_life = 0;
  bool web = false;
};

// "PATH" for the only environment, or "NAME=PATH[,NAME=PATH]".
Result<std::string> data_of(const ServeArgs& args, const std::string& name,
                            const std::vector<std::string>& names) {
  if (args.data.empty()) return std::string();
  std::string found;
  bool named = false;
  for (const std::string_view piece : split(args.data, ',')) {
    const std::size_t equals = piece.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string key(piece.substr(0, equals));
    if (std::find(names.begin(), names.end(), key) == names.end()) continue;
    named = true;
    if (key == name) found = std::string(piece.substr(equals + 1));
  }
  if (named) return found;
  if (names.size() == 1) return args.data;
  return Error{ErrorCode::kInvalidArgument, "--data must say whose data it is", args.data,
               "--data NAME=PATH[,NAME=PATH]"};
}

// A plain key goes to every environment that knows it, NAME.KEY to one.
Result<std::vector<Settings>> settings_by_environment(const ServeArgs& args,
                                                      const std::vector<const EnvType*>& types) {
  std::vector<Settings> out(types.size());
  for (const auto& [key, value] : args.settings) {
    bool known = false;
    std::vector<std::string> all;
    for (std::size_t i = 0; i < types.size(); ++i) {
      for (const OptionSpec& option : types[i]->options) {
        all.push_back(option.name);
        if (key != option.name && key != types[i]->name + "." + option.name) continue;
        out[i].emplace_back(option.name, value);
        known = true;
      }
    }
    if (known) continue;
    const std::string near = nearest_word(key, all);
    return Error{
        ErrorCode::kInvalidArgument,
        "no environment has an option '" + key + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?"),
        "--set", "known options: " + join(all, ", ")};
  }
  return out;
}

Result<std::vector<HostedEnvironment>> open_environments(const ServeArgs& args) {
  std::vector<std::string> names;
  std::vector<const EnvType*> types;
  for (const std::string_view piece : split(args.environments, ',')) {
    const std::string name(trim(piece));
    if (name.empty()) continue;
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      return Error{ErrorCode::kInvalidArgument, "environment '" + name + "' is named twice", "--env", ""};
    }
    const EnvType* type = find_environment_type(name);
    if (type == nullptr) return open_environment(name, {}).error();
    names.push_back(name);
    types.push_back(type);
  }
  if (names.empty())
    return Error{ErrorCode::kInvalidArgument, "no environment to serve", "--env", "see 'lodestep envs'"};
  const Result<std::vector<Settings>> settings = settings_by_environment(args, types);
  if (!settings) return settings.error();
  std::vector<HostedEnvironment> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Result<std::string> data = data_of(args, names[i], names);
    if (!data) return data.error();
    const EnvConfig config{*data, (*settings)[i]};
    const Result<std::shared_ptr<const EnvFactory>> factory = open_environment(names[i], config);
    if (!factory) return factory.error();
    HostedEnvironment environment{names[i], types[i]->summary, *factory, types[i]->default_max_steps, false,
                                  config};
    if (args.max_steps >= 0) environment.max_steps = static_cast<std::size_t>(args.max_steps);
    for (const auto& [key, value] : (*settings)[i]) {
      if (key == "after_done") environment.plays_on = value == "continue";
    }
    out.push_back(std::move(environment));
  }
  return out;
}

struct OpenRecording {
  std::unique_ptr<Recorder> recorder;
  std::size_t next_group = 0;
};

// A new recording, or one to be continued after a restart.
Result<OpenRecording> open_or_create(const std::string& path,
                                     const std::vector<HostedEnvironment>& environments) {
  OpenRecording out;
  if (path.empty()) return out;
  if (std::filesystem::exists(path)) {
    const Result<Recording> before = read_recording(path);
    if (!before) return before.error();
    for (const EpisodeRecord& episode : before->episodes)
      out.next_group = std::max(out.next_group, episode.group + 1);
    Result<std::unique_ptr<Recorder>> recorder = open_recording(path);
    if (!recorder) return recorder.error();
    out.recorder = std::move(*recorder);
    return out;
  }
  std::vector<std::string> names, versions, digests;
  for (const HostedEnvironment& environment : environments) {
    names.push_back(environment.name);
    versions.push_back(std::to_string(environment.factory->version()));
    digests.push_back(to_hex(environment.factory->data_digest()));
  }
  const RunInfo info{{"program", "lodestep " LODESTEP_VERSION},
                     {"command", "serve"},
                     {"env", join(names, ",")},
                     {"env_version", join(versions, ",")},
                     {"data_digest", join(digests, ",")}};
  Result<std::unique_ptr<Recorder>> recorder = create_recording(path, info);
  if (!recorder) return recorder.error();
  out.recorder = std::move(*recorder);
  return out;
}

// Thousands of sockets need as many file descriptors as the system gives.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

Result<LogLevel> log_level_of(const std::string& name) {
  const std::vector<std::string> names{"debug", "info", "warning", "error"};
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return Error{ErrorCode::kInvalidArgument, "unknown log level '" + name + "'", "--log-level",
                 "known: " + join(names, ", ")};
  }
  return static_cast<LogLevel>(found - names.begin());
}

// Names what a stop does not wait for any longer.
void log_what_is_left(Service& service, std::size_t requests) {
  log_event(LogLevel::kWarning, "requests_abandoned",
            {{"count", std::to_string(requests)}, {"reason", "they did not end within the limit stop_time"}});
  service.pool().for_each([](Session& session) {
    if (session.busy == 0) return;
    log_event(LogLevel::kWarning, "session_abandoned",
              {{"session", session.id}, {"env", session.environment.name}, {"client", session.client}});
  });
}

// Everything a running server borrows, in the order of its making.
Result<int> serve(const ServeArgs& args, Io& io) {
  for (const auto& [option, seconds] :
       {std::pair("--step-timeout", args.step_timeout), std::pair("--stop-timeout", args.stop_timeout),
        std::pair("--ping-interval", args.ping_interval)}) {
    if (!(seconds >= 0.001 && seconds <= 1e6))
      return Error{ErrorCode::kInvalidArgument, "a time is from 0.001 to 1000000 s", option, ""};
  }
  if (!(args.session_wait >= 0 && args.session_wait <= 1e6))
    return Error{ErrorCode::kInvalidArgument, "a time is from 0 to 1000000 s", "--session-wait", ""};
  const Result<LogLevel> level = log_level_of(args.log_level);
  if (!level) return level.error();
  std::vector<std::string> tokens;
  if (!args.token_file.empty()) {
    Result<std::vector<std::string>> read = read_tokens(args.token_file);
    if (!read) return read.error();
    tokens = std::move(*read);
  } else if (!is_loopback(args.host)) {
    return Error{ErrorCode::kInvalidArgument, "a host other than this machine needs --token-file", args.host,
                 "write a secret into a file and pass it, or leave --host out"};
  }
  Result<std::vector<HostedEnvironment>> environments = open_environments(args);
  if (!environments) return environments.error();
  if (!args.graph_store.empty()) {
    if (const Result<GraphStore> store = GraphStore::open(args.graph_store); !store) return store.error();
  }
  Result<OpenRecording> recording = open_or_create(args.record, *environments);
  if (!recording) return recording.error();

  set_log_level(*level);
  raise_descriptor_limit();
  ServiceConfig config;
  config.environments = *environments;
  config.limits.max_sessions = static_cast<std::size_t>(args.max_sessions);
  config.limits.max_sessions_per_client = static_cast<std::size_t>(args.max_sessions_per_client);
  config.limits.session_idle_seconds = args.session_timeout;
  config.limits.step_milliseconds = static_cast<std::int64_t>(args.step_timeout * 1000);
  config.limits.stop_milliseconds = static_cast<std::int64_t>(args.stop_timeout * 1000);
  config.limits.wait_milliseconds = static_cast<std::int64_t>(args.session_wait * 1000);
  config.limits.ping_milliseconds = static_cast<std::int64_t>(args.ping_interval * 1000);
  config.limits.max_connections = std::max(config.limits.max_connections, config.limits.max_sessions + 1000);
  config.recorder = recording->recorder.get();
  config.recording = args.record;
  config.first_recorded_group = recording->next_group;
  config.web = args.web;
  config.graph_store = args.graph_store;
  config.half_life = args.half_life;
  config.version = LODESTEP_VERSION;
  const SystemClock clock;
  Service service(std::move(config), clock);
  Application application(service, std::move(tokens));
  const InterruptGuard guard;
  SocketConfig sockets{
      args.host,    static_cast<std::uint16_t>(args.port),  args.tls_cert,
      args.tls_key, static_cast<std::size_t>(args.threads), static_cast<std::size_t>(args.workers)};
  Result<std::unique_ptr<SocketServer>> server = SocketServer::start(sockets, application);
  if (!server) return server.error();
  const std::string host = args.host.find(':') == std::string::npos ? args.host : "[" + args.host + "]";
  const std::string address = std::string(args.tls_cert.empty() ? "http://" : "https://") + host + ":" +
                              std::to_string((*server)->port());
  io.out << "listening on " << address << std::endl;
  log_event(LogLevel::kInfo, "listening", {{"address", address}, {"environments", args.environments}});

  const Status test = service.self_test();
  service.set_ready(test.ok() ? "" : "self-test failed: " + to_string(test.error()));
  log_event(test.ok() ? LogLevel::kInfo : LogLevel::kError, test.ok() ? "ready" : "not_ready",
            {{"reason", service.unready_reason()}});

  for (int tick = 1; !guard.requested(); ++tick) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (tick % 10 != 0) continue;
    const std::size_t swept = service.pool().sweep();
    if (swept > 0) log_event(LogLevel::kInfo, "sessions_swept", {{"count", std::to_string(swept)}});
    service.groups().sweep();
  }
  log_event(LogLevel::kInfo, "stopping", {{"sessions", std::to_string(service.pool().size())}});
  service.drain();
  const std::size_t left = (*server)->stop(std::chrono::milliseconds(service.limits().stop_milliseconds));
  if (left > 0) log_what_is_left(service, left);
  service.close_all();
  const Status flushed = recording->recorder ? recording->recorder->flush() : Status();
  log_event(flushed.ok() ? LogLevel::kInfo : LogLevel::kError, "stopped",
            {{"reason", flushed.ok() ? "" : to_string(flushed.error())}});
  // What hangs cannot be waited for, and uses all of the above until the process is gone.
  if (left > 0) std::_Exit(flushed.ok() ? guard.exit_status() : 1);
  if (!flushed) return flushed.error();
  return guard.exit_status();
}

}  // namespace

Result<int> run_serve(const std::vector<std::string>& words, Io& io) {
  Args args("serve", "Serves environments over HTTP and WebSocket: OpenEnv, AgentGym, and the native /v1.");
  ServeArgs serving;
  args.option("--env", serving.environments,
              "environments, separated by commas; the first one is also at the root")
      .required();
  args.option("--data", serving.data, "PATH of the only environment's data, or NAME=PATH[,NAME=PATH]");
  args.option("--host", serving.host, "address to listen on; any but this machine's own needs --token-file");
  args.option("--port", serving.port, "port, 0 = any free one (it is printed)").range(0, 65535);
  args.option("--token-file", serving.token_file,
              "file of tokens, one a line; clients send 'Authorization: Bearer TOKEN'");
  args.option("--max-sessions", serving.max_sessions,
              "sessions in all; the default follows the machine's memory")
      .range(1, 10000000);
  args.option("--max-sessions-per-client", serving.max_sessions_per_client,
              "sessions of one client address, 0 = no limit of its own")
      .range(0, 10000000);
  args.option("--session-wait", serving.session_wait,
              "seconds that a request for a session waits in line when none is free, 0 = refuse at once");
  args.option("--session-timeout", serving.session_timeout,
              "seconds until an idle session is closed, 0 = never")
      .range(0, 1000000000);
  args.option("--step-timeout", serving.step_timeout,
              "seconds after which a request is answered with an error in place of its own answer");
  args.option("--stop-timeout", serving.stop_timeout,
              "seconds that SIGTERM and SIGINT wait for requests that still run");
  args.option("--ping-interval", serving.ping_interval,
              "seconds of silence after which a WebSocket is pinged; two unanswered pings end it");
  args.flag("--web", serving.web,
            "serve OpenEnv's web routes: /web/metadata, /web/reset, /web/step, /web/state");
  args.option("--max-steps", serving.max_steps,
              "step budget of sessions that name none, 0 = none; the environment's own when left out")
      .range(-1, 1000000);
  args.option("--record", serving.record, "recording of all sessions; an existing one is continued");
  args.option("--graph-store", serving.graph_store,
              "file that remembers each task's graph, for requests of /v1 with memory=true");
  args.option("--half-life", serving.half_life,
              "batches after which an edge of --graph-store counts half; 0 = for ever");
  args.option("--tls-cert", serving.tls_cert, "PEM file of the certificate chain: serve HTTPS");
  args.option("--tls-key", serving.tls_key, "PEM file of its private key");
  args.option("--threads", serving.threads, "I/O threads, 0 = one per core").range(0, 1024);
  args.option("--workers", serving.workers, "threads for what takes long, 0 = two per core").range(0, 1024);
  args.option("--log-level", serving.log_level, "debug (every request), info, warning or error");
  args.settings(serving.settings, "option of an environment; NAME.KEY for one of several");
  const Result<bool> go = args.parse(words, io);
  if (!go) return go.error();
  if (!*go) return 0;
  return serve(serving, io);
}

}  // namespace lodestep::harness
