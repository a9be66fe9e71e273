#include "envs/alfworld_bridge/game_store.h"

#include <archive.h>
#include <archive_entry.h>
#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <list>
#include <set>

#include "base/text.h"
#include "envs/alfworld_bridge/household.h"

namespace lodestep::alfworld {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileName = "game.tw-pddl";
constexpr std::size_t kMaxGameBytes = 64U << 20;  // no game file comes near; guards against damaged archives
constexpr std::size_t kCachedGames = 512;         // compiled games kept beyond those in use
constexpr int kMaxFolders = 12;                   // nesting below the data root
const std::vector<std::string> kKnownSplits{"train", "valid_seen", "valid_unseen", "valid_train"};

bool is_known_split(std::string_view name) {
  return std::find(kKnownSplits.begin(), kKnownSplits.end(), name) != kKnownSplits.end();
}

// The folder of a game as its id: from the last known split on, else relative to the root.
std::string id_of(const std::string& folder) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(folder, '/')) {
    if (!part.empty() && part != ".") parts.emplace_back(part);
  }
  const auto known = std::find_if(parts.rbegin(), parts.rend(), is_known_split);
  if (known != parts.rend()) parts.erase(parts.begin(), known.base() - 1);
  return join(parts, "/");
}

std::string split_of(std::string_view id) {
  const std::vector<std::string_view> parts = split(id, '/');
  if (is_known_split(parts[0]) || parts.size() > 2) return std::string(parts[0]);
  return "all";
}

std::string type_folder(std::string_view id) {
  const std::vector<std::string_view> parts = split(id, '/');
  for (const std::string_view part : parts) {
    if (std::count(part.begin(), part.end(), '-') >= 2) return std::string(part);
  }
  return std::string(parts.size() > 1 ? parts[parts.size() - 2] : parts[0]);
}

std::string type_by_name(std::string_view id) {
  const std::string folder = type_folder(id);
  return folder.substr(0, folder.find('-'));
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{ErrorCode::kNotFound, "cannot read the file", path, ""};
  std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) return Error{ErrorCode::kUnavailable, "reading failed", path, ""};
  return bytes;
}

// What "solvable" says: 1 true, 0 false, -1 missing. `exact` reads the JSON, otherwise the text's tail.
int solvable_in(std::string_view text) {
  const std::size_t key = text.rfind("\"solvable\"");
  if (key == std::string_view::npos) return -1;
  std::size_t at = key + 10;
  while (at < text.size() &&
         (text[at] == ' ' || text[at] == ':' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r'))
    ++at;
  if (text.substr(at, 4) == "true") return 1;
  return text.substr(at, 5) == "false" ? 0 : -1;
}

std::string refusal_by_solvable(int solvable) {
  if (solvable > 0) return "";
  return solvable == 0 ? "it is marked as not solvable" : "it does not say whether it is solvable";
}

// The end of a file is enough in the released data; other layouts are read whole.
std::string refusal_by_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(in.tellg());
  std::string tail(static_cast<std::size_t>(std::clamp<std::streamoff>(size, 0, 4096)), '\0');
  in.seekg(size - static_cast<std::streamoff>(tail.size()));
  in.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  if (in && solvable_in(tail) == 1) return "";
  const Result<std::string> all = read_file(path);
  if (!all) return "it cannot be read";
  const Result<GameFile> file = parse_game_file(*all, path);
  if (!file) return "it is damaged: " + to_string(file.error());
  return refusal_by_solvable(!file->has_solvable ? -1 : file->solvable ? 1 : 0);
}

Result<std::string> pack(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1);
  if (ZSTD_isError(size) != 0)
    return Error{ErrorCode::kUnavailable, std::string("zstd: ") + ZSTD_getErrorName(size), "", ""};
  out.resize(size);
  out.shrink_to_fit();
  return out;
}

Result<std::string> unpack(const std::string& packed, const std::string& path) {
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  std::string out(size > kMaxGameBytes ? 0 : static_cast<std::size_t>(size), '\0');
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0 || got != out.size())
    return Error{ErrorCode::kBadData, "damaged packed game", path, ""};
  return out;
}

Status read_archive(const std::string& path, std::vector<GameStore::Entry>& entries) {
  const std::unique_ptr<archive, int (*)(archive*)> reader(archive_read_new(), &archive_read_free);
  archive_read_support_filter_all(reader.get());
  archive_read_support_format_all(reader.get());
  const auto bad = [&](const std::string& hint) {
    const char* why = archive_error_string(reader.get());
    return Error{ErrorCode::kBadData,
                 std::string("not a readable archive: ") + (why != nullptr ? why : "unknown format"), path,
                 hint};
  };
  const std::string hint =
      "--data takes the json_2.1.1 folder, a .tar.zst, .tar.gz or .zip of it, or one game.tw-pddl";
  if (archive_read_open_filename(reader.get(), path.c_str(), 1U << 17) != ARCHIVE_OK) return bad(hint);
  while (true) {
    archive_entry* item = nullptr;
    const int status = archive_read_next_header(reader.get(), &item);
    if (status == ARCHIVE_EOF) return {};
    if (status < ARCHIVE_WARN) return bad(hint);
    const char* raw = archive_entry_pathname_utf8(item);
    if (raw == nullptr) raw = archive_entry_pathname(item);
    const std::string name = raw == nullptr ? "" : raw;
    const std::size_t slash = name.rfind('/');
    if (name.substr(slash == std::string::npos ? 0 : slash + 1) != kFileName) continue;
    std::string bytes;
    const void* block = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    for (int got = ARCHIVE_OK; got != ARCHIVE_EOF;) {
      got = archive_read_data_block(reader.get(), &block, &size, &offset);
      if (got < ARCHIVE_WARN) return bad("the archive is cut off or damaged at " + name);
      if (got == ARCHIVE_EOF) break;
      if (bytes.size() + size > kMaxGameBytes)
        return Error{ErrorCode::kBadData, "a game file of more than 64 MiB", path + ": " + name, ""};
      bytes.append(static_cast<const char*>(block), size);
    }
    GameStore::Entry entry;
    entry.id =
        id_of(slash == std::string::npos ? fs::path(path).stem().stem().string() : name.substr(0, slash));
    entry.path = path + ": " + name;
    entry.refusal = refusal_by_solvable(solvable_in(bytes));
    Result<std::string> packed = pack(bytes);
    if (!packed) return packed.error();
    entry.packed = std::move(*packed);
    entries.push_back(std::move(entry));
  }
}

Status read_folder(const std::string& root, std::vector<GameStore::Entry>& entries) {
  std::error_code failed;
  // A split's own folder keeps the ids of the whole data root.
  const std::string own = fs::weakly_canonical(root, failed).filename().string();
  const std::string prefix = is_known_split(own) ? own + "/" : "";
  fs::recursive_directory_iterator walk(root, fs::directory_options::follow_directory_symlink, failed);
  for (; !failed && walk != fs::recursive_directory_iterator(); walk.increment(failed)) {
    if (walk.depth() >= kMaxFolders) walk.disable_recursion_pending();
    if (walk->path().filename() != kFileName) continue;
    std::error_code ignored;
    if (!fs::is_regular_file(walk->path(), ignored)) continue;
    GameStore::Entry entry;
    const std::string folder = walk->path().parent_path().lexically_relative(root).generic_string();
    entry.id = folder == "." || folder.empty()
                   ? id_of(fs::absolute(walk->path(), ignored).parent_path().generic_string())
                   : id_of(prefix + folder);
    entry.path = walk->path().string();
    entry.refusal = refusal_by_file(entry.path);
    entries.push_back(std::move(entry));
  }
  if (failed) return Error{ErrorCode::kUnavailable, "cannot read the folder: " + failed.message(), root, ""};
  return {};
}

// One file stands for itself: the id keeps split, type and trial where the path has them.
Status read_single(const std::string& path, std::vector<GameStore::Entry>& entries) {
  std::error_code ignored;
  const std::string folder = fs::absolute(path, ignored).lexically_normal().parent_path().generic_string();
  GameStore::Entry entry;
  const std::vector<std::string_view> parts = split(folder, '/');
  entry.id = id_of(folder);
  if (!is_known_split(split(entry.id, '/')[0])) {  // no split in sight: the last two folders
    entry.id = std::string(parts.back());
    if (parts.size() > 1 && !parts[parts.size() - 2].empty())
      entry.id = std::string(parts[parts.size() - 2]) + "/" + entry.id;
  }
  if (entry.id.empty()) entry.id = "game";
  entry.path = path;
  const Result<std::string> bytes = read_file(path);
  if (!bytes) return bytes.error();
  const Result<GameFile> file = parse_game_file(*bytes, path);
  if (!file) return file.error();
  entry.refusal = refusal_by_solvable(!file->has_solvable ? -1 : file->solvable ? 1 : 0);
  entries.push_back(std::move(entry));
  return {};
}

bool looks_like_json(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char c = 0;
  while (in.get(c) && (c == ' ' || c == '\n' || c == '\r' || c == '\t')) {
  }
  return c == '{';
}

}  // namespace

struct GameStore::Cache {
  using Item = std::pair<std::string, std::shared_ptr<const Playable>>;
  std::mutex mutex;
  std::list<Item> latest;  // most recently used first
  std::unordered_map<std::string, std::list<Item>::iterator, ContainerHash> where;
  std::once_flag digest_once;
  Hash128 digest;
};

GameStore::GameStore() : cache_(std::make_shared<Cache>()) {}

const std::vector<std::string>& task_types() {
  static const std::vector<std::string> types{
      "look_at_obj_in_light",          "pick_and_place_simple",         "pick_clean_then_place_in_recep",
      "pick_cool_then_place_in_recep", "pick_heat_then_place_in_recep", "pick_two_obj_and_place"};
  return types;
}

std::string refusal_by_name(std::string_view id) {
  if (id.find("movable") != std::string_view::npos) {
    return "its goal needs a thing inside a movable container, which the text engine cannot do: it could "
           "never be solved";
  }
  if (id.find("Sliced") != std::string_view::npos)
    return "its goal needs a sliced thing, a task type that the text games leave out";
  return "";
}

Hash128 state_hash(const World& world) {
  return hash128(
      {reinterpret_cast<const char*>(world.bits().data()), world.bits().size() * sizeof(world.bits()[0])});
}

std::shared_ptr<const Playable> make_playable(std::shared_ptr<const Game> game, const std::string& id) {
  auto playable = std::make_shared<Playable>(std::move(game));
  playable->id = id;
  playable->task_type = type_by_name(id);
  const std::vector<std::string>& known = task_types();
  if (std::find(known.begin(), known.end(), playable->task_type) == known.end())
    playable->task_type = playable->view.kind();
  World world(playable->game);
  for (const std::string& command : playable->game->walkthrough) {
    if (world.won()) break;
    const Hash128 before = state_hash(world);
    const Id number = playable->game->find_command(command);
    if (number == kNone || !world.play(number)) {
      playable->walkthrough_states.clear();  // not a solution: leave it to the planner
      return playable;
    }
    playable->walkthrough_states.push_back(before);
  }
  if (!world.won()) playable->walkthrough_states.clear();
  return playable;
}

Status GameStore::fill(const std::string& path) {
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  const std::string hint =
      "give the json_2.1.1 folder of ALFWorld (command alfworld-download of the PyPI package alfworld), an "
      "archive of it, or one game.tw-pddl";
  if (!fs::exists(status)) return Error{ErrorCode::kNotFound, "no such file or folder", path, hint};
  Status filled = fs::is_directory(status) ? read_folder(path, entries_)
                  : looks_like_json(path)  ? read_single(path, entries_)
                                           : read_archive(path, entries_);
  if (!filled) return filled;
  if (entries_.empty()) {
    return Error{ErrorCode::kNotFound, "no game.tw-pddl in there", path, hint};
  }
  return {};
}

void GameStore::finish() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.id < b.id; });
  std::set<std::string> names;
  for (Entry& entry : entries_) {
    entry.split = split_of(entry.id);
    names.insert(entry.split);
    const std::string by_name = refusal_by_name(entry.id);
    if (!by_name.empty()) entry.refusal = by_name;
  }
  for (const std::string& known : kKnownSplits) {
    if (names.erase(known) > 0) splits_.push_back(known);
  }
  splits_.insert(splits_.end(), names.begin(), names.end());
}

// Which entries are offered, by split.
void GameStore::select(const Source& source) {
  by_split_.resize(splits_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::vector<std::string>& types = source.task_types;
    if (!entries_[i].refusal.empty()) continue;
    if (!types.empty() && std::find(types.begin(), types.end(), type_by_name(entries_[i].id)) == types.end())
      continue;
    const auto at = std::find(splits_.begin(), splits_.end(), entries_[i].split) - splits_.begin();
    by_split_[static_cast<std::size_t>(at)].push_back(i);
  }
}

Result<std::unique_ptr<GameStore>> GameStore::open_all(const std::string& path) {
  std::unique_ptr<GameStore> store(new GameStore());
  if (path.empty()) {
    for (const HouseholdGame& game : household_games()) {
      Result<std::string> packed = pack(game.file);
      if (!packed) return packed.error();
      store->entries_.push_back({game.id, "", "embedded: " + game.id, std::move(*packed), ""});
    }
  } else if (Status status = store->fill(path); !status) {
    return status.error();
  }
  store->finish();
  return store;
}

Result<std::unique_ptr<GameStore>> GameStore::open(const Source& source) {
  Result<std::unique_ptr<GameStore>> opened = open_all(source.path);
  if (!opened) return opened;
  std::unique_ptr<GameStore> store = std::move(*opened);
  store->select(source);
  const std::vector<Entry>& all = store->entries_;
  const auto twin =
      std::adjacent_find(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.id == b.id; });
  if (twin != all.end())
    return Error{ErrorCode::kBadData, "two games with the id '" + twin->id + "'", source.path, ""};
  std::size_t refused = 0;
  std::string some;
  for (const Entry& entry : all) {
    const std::vector<std::string>& types = source.task_types;
    if (entry.refusal.empty() ||
        (!types.empty() && std::find(types.begin(), types.end(), type_by_name(entry.id)) == types.end()))
      continue;
    if (++refused <= 5) some += (some.empty() ? "" : "; ") + entry.id + ": " + entry.refusal;
  }
  if (refused > 0 && !source.skip_refused) {
    return Error{ErrorCode::kUnsupported,
                 std::to_string(refused) + " of " + std::to_string(all.size()) +
                     " games cannot be offered: " + some + (refused > 5 ? "; ..." : ""),
                 source.path, "--set refused=skip leaves them out; `lodestep alfworld check` lists them all"};
  }
  const bool any = std::any_of(store->by_split_.begin(), store->by_split_.end(),
                               [](const auto& list) { return !list.empty(); });
  if (!any) {
    return Error{ErrorCode::kNotFound, "none of the " + std::to_string(all.size()) + " games can be offered",
                 source.path, "check --set task_types; `lodestep alfworld check` gives the reasons"};
  }
  return store;
}

const std::vector<std::size_t>* GameStore::split(std::string_view name) const {
  const auto found = std::find(splits_.begin(), splits_.end(), name);
  return found == splits_.end() ? nullptr : &by_split_[static_cast<std::size_t>(found - splits_.begin())];
}

const GameStore::Entry* GameStore::find(std::string_view id) const {
  const std::string suffix = "/" + std::string(kFileName);
  if (id.size() > suffix.size() && id.substr(id.size() - suffix.size()) == suffix)
    id.remove_suffix(suffix.size());
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), id,
                       [](const Entry& entry, std::string_view wanted) { return entry.id < wanted; });
  if (found != entries_.end() && found->id == id) return &*found;
  const Entry* only = nullptr;
  for (const std::string& split_name : splits_) {
    const std::string full = split_name + "/" + std::string(id);
    const auto in_split =
        std::lower_bound(entries_.begin(), entries_.end(), full,
                         [](const Entry& entry, const std::string& wanted) { return entry.id < wanted; });
    if (in_split == entries_.end() || in_split->id != full) continue;
    if (only != nullptr) return nullptr;
    only = &*in_split;
  }
  return only;
}

Result<std::string> GameStore::read(const Entry& entry) const {
  return entry.packed.empty() ? read_file(entry.path) : unpack(entry.packed, entry.path);
}

Result<std::shared_ptr<const Playable>> GameStore::load(std::string_view id) const {
  const Entry* entry = find(id);
  if (entry == nullptr) {
    return Error{ErrorCode::kNotFound, "alfworld has no task '" + std::string(id) + "'", "",
                 "`lodestep tasks alfworld` lists the task ids"};
  }
  if (!entry->refusal.empty())
    return Error{ErrorCode::kUnsupported, "the game is not offered: " + entry->refusal, entry->id, ""};
  {
    const std::lock_guard lock(cache_->mutex);
    const auto found = cache_->where.find(entry->id);
    if (found != cache_->where.end()) {
      cache_->latest.splice(cache_->latest.begin(), cache_->latest, found->second);
      return found->second->second;
    }
  }
  const Result<std::string> bytes = read(*entry);
  if (!bytes) return bytes.error();
  const Result<std::shared_ptr<const Game>> game = load_game(*bytes, entry->path);
  if (!game) return game.error();
  std::shared_ptr<const Playable> playable = make_playable(*game, entry->id);
  const std::lock_guard lock(cache_->mutex);
  const auto found = cache_->where.find(entry->id);
  if (found != cache_->where.end()) return found->second->second;  // another thread was faster
  cache_->latest.emplace_front(entry->id, playable);
  cache_->where.emplace(entry->id, cache_->latest.begin());
  if (cache_->latest.size() > kCachedGames) {
    cache_->where.erase(cache_->latest.back().first);
    cache_->latest.pop_back();
  }
  return playable;
}

Hash128 GameStore::digest() const {
  std::call_once(cache_->digest_once, [this] {
    Hasher hasher;
    for (const Entry& entry : entries_) {
      const Result<std::string> bytes = read(entry);
      hasher.add(entry.id).add(bytes ? *bytes : "unreadable");
    }
    cache_->digest = hasher.finish();
  });
  return cache_->digest;
}

}  // namespace lodestep::alfworld
