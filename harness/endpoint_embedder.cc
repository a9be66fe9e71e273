#include "harness/internal/endpoint_embedder.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "base/hash.h"
#include "base/text.h"
#include "harness/internal/http_client.h"
#include "harness/internal/json.h"
#include "harness/internal/sqlite.h"

namespace lodestep::harness {
namespace {

using Vector = std::vector<float>;

struct Endpoint {
  std::string url, model, key;
  std::size_t batch = 64;
  double timeout = 30;
  std::int64_t retries = 3;
};

// The address of the embeddings route, whatever part of it was given.
std::string embeddings_url(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  if (url.ends_with("/embeddings")) return url;
  return url + (url.ends_with("/v1") ? "/embeddings" : "/v1/embeddings");
}

class Cache {
 public:
  static Result<Cache> open(const std::string& path) {
    Result<Database> database = Database::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    if (!database) return database.error();
    Cache cache(*std::move(database));
    if (Status made =
            cache.database_.run("PRAGMA journal_mode=WAL; CREATE TABLE IF NOT EXISTS embedding ("
                                "model TEXT NOT NULL, text_hash TEXT NOT NULL, vector BLOB NOT NULL, "
                                "PRIMARY KEY (model, text_hash)) WITHOUT ROWID");
        !made) {
      return made.error();
    }
    return cache;
  }

  Result<std::optional<Vector>> get(const std::string& model, const std::string& hash) {
    Result<Statement> find =
        database_.prepare("SELECT vector FROM embedding WHERE model = ? AND text_hash = ?");
    if (!find) return find.error();
    find->bind(1, std::string_view(model));
    find->bind(2, std::string_view(hash));
    const Result<bool> found = find->next();
    if (!found) return found.error();
    if (!*found) return std::optional<Vector>();
    const std::string bytes = find->text(0);
    Vector vector(bytes.size() / sizeof(float));
    std::memcpy(vector.data(), bytes.data(), vector.size() * sizeof(float));
    return std::optional<Vector>(std::move(vector));
  }

  Status put(const std::string& model, const std::string& hash, const Vector& vector) {
    Result<Statement> insert = database_.prepare("INSERT OR REPLACE INTO embedding VALUES (?, ?, ?)");
    if (!insert) return insert.error();
    insert->bind(1, std::string_view(model));
    insert->bind(2, std::string_view(hash));
    insert->bind_blob(3, {reinterpret_cast<const char*>(vector.data()), vector.size() * sizeof(float)});
    return insert->run();
  }

  Status begin() { return database_.run("BEGIN"); }
  Status commit() { return database_.run("COMMIT"); }

 private:
  explicit Cache(Database database) : database_(std::move(database)) {}
  Database database_;
};

class EndpointEmbedder : public canonicalizer::Embedder {
 public:
  EndpointEmbedder(Endpoint endpoint, std::optional<Cache> cache)
      : endpoint_(std::move(endpoint)), cache_(std::move(cache)) {}

  Result<std::vector<Vector>> embed(std::span<const std::string_view> texts) override {
    std::vector<Vector> vectors(texts.size());
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (cache_) {
        Result<std::optional<Vector>> known = cache_->get(model(), to_hex(hash128(texts[i])));
        if (!known) return known.error();
        if (known->has_value()) {
          vectors[i] = **std::move(known);
          continue;
        }
      }
      missing.push_back(i);
    }
    for (std::size_t from = 0; from < missing.size(); from += endpoint_.batch) {
      const std::size_t count = std::min(endpoint_.batch, missing.size() - from);
      const std::span<const std::size_t> some(missing.data() + from, count);
      Result<std::vector<Vector>> fresh = ask(texts, some);
      if (!fresh) return fresh.error();
      if (Status kept = keep(texts, some, *fresh); !kept) return kept.error();
      for (std::size_t k = 0; k < count; ++k) vectors[some[k]] = std::move((*fresh)[k]);
    }
    return vectors;
  }

 private:
  const std::string& model() const { return endpoint_.model.empty() ? endpoint_.url : endpoint_.model; }

  Status keep(std::span<const std::string_view> texts, std::span<const std::size_t> some,
              const std::vector<Vector>& vectors) {
    if (!cache_) return {};
    if (Status begun = cache_->begin(); !begun) return begun;
    for (std::size_t k = 0; k < some.size(); ++k) {
      if (Status put = cache_->put(model(), to_hex(hash128(texts[some[k]])), vectors[k]); !put) return put;
    }
    return cache_->commit();
  }

  Result<std::vector<Vector>> ask(std::span<const std::string_view> texts,
                                  std::span<const std::size_t> some) const {
    PostRequest request;
    request.url = endpoint_.url;
    request.timeout_seconds = endpoint_.timeout;
    if (!endpoint_.key.empty()) request.headers.emplace_back("Authorization", "Bearer " + endpoint_.key);
    request.body = "{\"model\":" + json_quote(endpoint_.model) + ",\"input\":[";
    for (std::size_t k = 0; k < some.size(); ++k)
      request.body += (k > 0 ? "," : "") + json_quote(texts[some[k]]);
    request.body += "]}";
    Error last;
    for (std::int64_t attempt = 0; attempt <= endpoint_.retries; ++attempt) {
      if (attempt > 0)
        std::this_thread::sleep_for(std::chrono::milliseconds(100LL << std::min<std::int64_t>(attempt, 7)));
      const Result<HttpReply> reply = http_post(request);
      if (!reply) {
        last = reply.error();
        continue;
      }
      if (reply->status == 200) return parse(reply->body, some.size());
      last = {ErrorCode::kUnavailable,
              "the endpoint answered " + std::to_string(reply->status) + ": " + reply->body.substr(0, 200),
              endpoint_.url, ""};
      if (reply->status != 429 && reply->status < 500) break;  // it would say the same again
    }
    return last;
  }

  Result<std::vector<Vector>> parse(const std::string& body, std::size_t expected) const {
    const auto wrong = [&](const std::string& what) {
      return Error{ErrorCode::kUnavailable, "the endpoint's answer " + what, endpoint_.url, ""};
    };
    const Result<rapidjson::Document> reply = parse_json_object(body, endpoint_.url);
    if (!reply) return reply.error();
    const auto data = reply->FindMember("data");
    if (data == reply->MemberEnd() || !data->value.IsArray()) return wrong("has no \"data\"");
    if (data->value.Size() != expected) {
      return wrong("has " + std::to_string(data->value.Size()) + " embeddings for " +
                   std::to_string(expected) + " texts");
    }
    std::vector<Vector> vectors(expected);
    for (rapidjson::SizeType k = 0; k < expected; ++k) {
      const rapidjson::Value& item = data->value[k];
      if (!item.IsObject() || !item.HasMember("embedding") || !item["embedding"].IsArray()) {
        return wrong("has an item without \"embedding\"");
      }
      std::size_t place = k;
      if (const auto index = item.FindMember("index"); index != item.MemberEnd() && index->value.IsUint()) {
        place = index->value.GetUint();
      }
      if (place >= expected || !vectors[place].empty()) return wrong("numbers its embeddings wrongly");
      for (const rapidjson::Value& number : item["embedding"].GetArray()) {
        if (!number.IsNumber()) return wrong("has an embedding that is no list of numbers");
        vectors[place].push_back(static_cast<float>(number.GetDouble()));
      }
    }
    return vectors;
  }

  Endpoint endpoint_;
  std::optional<Cache> cache_;
};

}  // namespace

Result<std::unique_ptr<canonicalizer::Embedder>> make_endpoint_embedder(const Options& options) {
  Endpoint endpoint;
  endpoint.url = embeddings_url(options.text("embedder"));
  if (const Result<HttpUrl> url = parse_http_url(endpoint.url); !url) return url.error();
  endpoint.model = options.text("model");
  const Result<std::int64_t> batch = options.integer("batch", 1, 10000);
  const Result<double> timeout = options.number("timeout", 0.001, 86400);
  const Result<std::int64_t> retries = options.integer("retries", 0, 100);
  if (!batch) return batch.error();
  if (!timeout) return timeout.error();
  if (!retries) return retries.error();
  endpoint.batch = static_cast<std::size_t>(*batch);
  endpoint.timeout = *timeout;
  endpoint.retries = *retries;
  if (const char* key = std::getenv(options.text("key_env").c_str()); key != nullptr) endpoint.key = key;
  std::optional<Cache> cache;
  if (!options.text("cache").empty()) {
    Result<Cache> opened = Cache::open(options.text("cache"));
    if (!opened) return opened.error();
    cache.emplace(*std::move(opened));
  }
  return std::unique_ptr<canonicalizer::Embedder>(
      std::make_unique<EndpointEmbedder>(std::move(endpoint), std::move(cache)));
}

}  // namespace lodestep::harness
