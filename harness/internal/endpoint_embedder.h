// Embeddings from an OpenAI-compatible endpoint (vLLM, TGI, text-embeddings-inference, llama.cpp, ...).
//   Result<std::unique_ptr<canonicalizer::Embedder>> embedder = make_endpoint_embedder(options);
// Threads: one at a time. Options: those of the matcher `embedding`. Requests hold `batch` texts, end after
// `timeout` seconds and are tried again `retries` times when the endpoint is busy, broken or away; answers
// are kept in the SQLite file `cache` by model and text.
#pragma once

#include <memory>

#include "base/options.h"
#include "base/result.h"
#include "canonicalizer/embedding.h"

namespace lodestep::harness {

Result<std::unique_ptr<canonicalizer::Embedder>> make_endpoint_embedder(const Options& options);

}  // namespace lodestep::harness
