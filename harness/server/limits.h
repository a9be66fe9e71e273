// Every limit of the server, with its unit in its name. GET /v1/limits reports them.
//   Limits limits; limits.max_sessions = 128;
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lodestep::harness {

struct Limits {
  std::size_t max_sessions = 1000;
  std::size_t max_sessions_per_client = 0;   // 0: no limit of its own
  std::int64_t session_idle_seconds = 3600;  // 0: never
  std::size_t max_connections = 20000;
  std::size_t body_bytes = 16u << 20;
  std::size_t header_bytes = 64u << 10;
  std::size_t path_bytes = 8u << 10;
  std::size_t message_bytes = 16u << 20;
  std::size_t json_nesting = 64;
  std::size_t queued_messages = 64;  // read ahead of the one that runs, per socket
  std::size_t queued_message_bytes = 16u << 20;
  std::size_t stream_requests = 16;     // of one /v1/stream, played at once
  std::size_t output_bytes = 4u << 20;  // unread replies after which a socket is no longer read
  std::size_t batch_sessions = 4096;    // sessions in one batch or group request
  std::size_t listed_tasks = 100000;    // tasks in one reply
  std::size_t max_steps = 1000000;      // step budget that a session may ask for
  std::size_t kept_steps = 100000;      // of an episode of a group, for its advantages
  std::size_t name_characters = 255;    // of a group; of an episode or request over OpenEnv's HTTP
  std::size_t name_bytes = 64u << 10;   // of an episode elsewhere
  std::size_t remembered_ids = 100000;  // closed sessions that are told apart from unknown ones
  std::int64_t header_seconds = 10;
  std::int64_t body_progress_seconds = 30;
  std::int64_t keep_alive_seconds = 900;    // idle connection between requests
  std::int64_t ping_milliseconds = 20000;   // silent WebSocket; dropped after two unanswered ones
  std::int64_t wait_milliseconds = 0;       // how long a request waits for a session when none is free
  std::int64_t write_seconds = 120;         // a client that reads nothing is dropped
  std::int64_t stop_milliseconds = 20000;   // a stop waits no longer for what still runs
  std::int64_t step_milliseconds = 300000;  // an answer that takes longer is an error in its place
};

// Half of the machine's memory at 100 KB a session, at least 1,000 and at most 100,000.
std::size_t default_max_sessions();

}  // namespace lodestep::harness
