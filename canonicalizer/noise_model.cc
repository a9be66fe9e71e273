#include "canonicalizer/noise_model.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace lodestep::canonicalizer {
namespace {

constexpr std::string_view kMagic = "lodestep noise model 1\n";  // the number is the format's version

template <typename T>
void put(std::string& out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

// Takes little-endian numbers off the front; `good` turns false past the end.
struct Reader {
  std::string_view left;
  bool good = true;
  template <typename T>
  T take() {
    if (left.size() < sizeof(T)) {
      good = false;
      return 0;
    }
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<T>(value |
                             static_cast<T>(static_cast<T>(static_cast<unsigned char>(left[i])) << (8 * i)));
    }
    left.remove_prefix(sizeof(T));
    return value;
  }
};

void put_table(std::string& out, const NoiseModel::Table& table) {
  std::vector<std::pair<Hash128, NoiseModel::Aged>> rows(table.begin(), table.end());
  std::sort(rows.begin(), rows.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  put(out, static_cast<std::uint64_t>(rows.size()));
  for (const auto& [hash, aged] : rows) {
    put(out, hash.high);
    put(out, hash.low);
    put(out, aged.votes.noise);
    put(out, aged.votes.genuine);
    put(out, aged.last_batch);
  }
}

bool take_table(Reader& in, NoiseModel::Table& table) {
  const auto rows = in.take<std::uint64_t>();
  for (std::uint64_t i = 0; in.good && i < rows; ++i) {
    Hash128 hash;
    hash.high = in.take<std::uint64_t>();
    hash.low = in.take<std::uint64_t>();
    NoiseModel::Aged aged;
    aged.votes.noise = in.take<std::uint32_t>();
    aged.votes.genuine = in.take<std::uint32_t>();
    aged.last_batch = in.take<std::uint32_t>();
    table[hash] = aged;
  }
  return in.good && table.size() == rows;
}

}  // namespace

Votes& Votes::operator+=(const Votes& other) {
  noise += other.noise;
  genuine += other.genuine;
  return *this;
}

Votes NoiseModel::find(const Table& table, const Hash128& hash) {
  const auto found = table.find(hash);
  return found == table.end() ? Votes{} : found->second.votes;
}

void NoiseModel::add(Table& table, const Hash128& hash, Votes votes) {
  Aged& aged = table[hash];
  aged.votes += votes;
  aged.last_batch = batches_;
}

void NoiseModel::add_totals(std::uint32_t noise_lines, std::uint32_t row_orders, std::uint32_t word_orders) {
  noise_lines_ += noise_lines;
  row_orders_ += row_orders;
  word_orders_ += word_orders;
}

void NoiseModel::end_batch() {
  for (Table* table : {&segments_, &templates_, &features_, &contexts_}) {
    std::erase_if(*table, [&](const auto& row) { return row.second.last_batch + kMaxAge < batches_; });
  }
}

std::string NoiseModel::serialize() const {
  std::string out(kMagic);
  for (const std::uint32_t number : {batches_, noise_lines_, row_orders_, word_orders_}) put(out, number);
  for (const Table* table : {&segments_, &templates_, &features_, &contexts_}) put_table(out, *table);
  const Hash128 check = hash128(out);
  put(out, check.high);
  put(out, check.low);
  return out;
}

Status NoiseModel::parse(std::string_view bytes) {
  const auto refused = [](const char* why) {
    return Error{ErrorCode::kBadData, std::string("not a noise model that this version can read: ") + why, "",
                 "delete the file to start a new model"};
  };
  if (!bytes.starts_with(kMagic)) return refused("it starts otherwise");
  if (bytes.size() < kMagic.size() + 16) return refused("it is cut off");
  const std::string_view body = bytes.substr(0, bytes.size() - 16);
  Reader tail{bytes.substr(body.size())};
  const Hash128 check = hash128(body);
  if (tail.take<std::uint64_t>() != check.high || tail.take<std::uint64_t>() != check.low) {
    return refused("it is damaged");
  }
  Reader in{body.substr(kMagic.size())};
  NoiseModel model;
  for (std::uint32_t* number :
       {&model.batches_, &model.noise_lines_, &model.row_orders_, &model.word_orders_}) {
    *number = in.take<std::uint32_t>();
  }
  for (Table* table : {&model.segments_, &model.templates_, &model.features_, &model.contexts_}) {
    if (!take_table(in, *table)) return refused("it is damaged");
  }
  if (!in.left.empty()) return refused("it is damaged");
  *this = std::move(model);
  return {};
}

Hash128 NoiseModel::version() const { return hash128(serialize()); }

}  // namespace lodestep::canonicalizer
