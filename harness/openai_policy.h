// The policy that asks a language model: any OpenAI-compatible chat endpoint.
//   Result<std::unique_ptr<Policy>> policy =
//   make_openai_policy("http://localhost:8000/v1,model=qwen,temperature=0.4");
// Options after the URL, each ",name=value": model, temperature, top_p, max_tokens, timeout (seconds for
// one try), retries, backoff (seconds before the first retry, doubled each time), concurrency (requests
// in flight), history (turns shown), prompt_template (a file), api_key_env (environment variable with
// the key), ca_file (certificates to trust beside the system's, for https), stream. Threads: act() from many
// at once; connections are kept and shared.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "harness/policy.h"

namespace lodestep::harness {

// `spec` is what follows "openai:". Fails on a malformed URL, an unknown option or an unreadable template.
Result<std::unique_ptr<Policy>> make_openai_policy(const std::string& spec);

// The text of a chat completion, plain JSON or a stream of server-sent events; fails when it is neither.
Result<std::string> read_completion(std::string_view body, bool event_stream);

}  // namespace lodestep::harness
