#include "base/rng.h"

#include <bit>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "base/check.h"

namespace lodestep {
namespace {

__extension__ using Wide = unsigned __int128;

}  // namespace

std::uint64_t Stream::next() {
  return Hasher().add_u64(key_.high).add_u64(key_.low).add_u64(count_++).finish().low;
}

std::uint64_t Stream::below(std::uint64_t n) {
  LODESTEP_CHECK(n > 0);
  // Multiply-shift with rejection of the short last interval (Lemire 2019): exactly uniform.
  const std::uint64_t floor = (0 - n) % n;
  for (;;) {
    const Wide product = static_cast<Wide>(next()) * n;
    if (static_cast<std::uint64_t>(product) >= floor) return static_cast<std::uint64_t>(product >> 64);
  }
}

double Stream::unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

void MersenneTwister::seed_word(std::uint32_t seed) {
  state_[0] = seed;
  for (std::uint32_t i = 1; i < 624; ++i) {
    const std::uint32_t last = state_[i - 1];
    state_[i] = 1812433253U * (last ^ (last >> 30)) + i;
  }
  position_ = 624;
}

void MersenneTwister::seed_words(const std::vector<std::uint32_t>& words) {
  LODESTEP_CHECK(!words.empty());
  seed_word(19650218U);
  std::size_t i = 1;
  std::size_t j = 0;
  for (std::size_t k = std::max<std::size_t>(624, words.size()); k > 0; --k) {
    const std::uint32_t last = state_[i - 1];
    state_[i] = (state_[i] ^ ((last ^ (last >> 30)) * 1664525U)) + words[j] + static_cast<std::uint32_t>(j);
    if (++i == 624) {
      state_[0] = state_[623];
      i = 1;
    }
    if (++j == words.size()) j = 0;
  }
  for (std::size_t k = 623; k > 0; --k) {
    const std::uint32_t last = state_[i - 1];
    state_[i] = (state_[i] ^ ((last ^ (last >> 30)) * 1566083941U)) - static_cast<std::uint32_t>(i);
    if (++i == 624) {
      state_[0] = state_[623];
      i = 1;
    }
  }
  state_[0] = 0x80000000U;
}

void MersenneTwister::refill() {
  const auto twist = [](std::uint32_t high, std::uint32_t low) {
    const std::uint32_t joined = (high & 0x80000000U) | (low & 0x7fffffffU);
    return (joined >> 1) ^ ((low & 1U) != 0 ? 0x9908b0dfU : 0U);
  };
  for (std::size_t i = 0; i < 227; ++i) state_[i] = state_[i + 397] ^ twist(state_[i], state_[i + 1]);
  for (std::size_t i = 227; i < 623; ++i) {
    state_[i] = state_[i - 227] ^ twist(state_[i], state_[i + 1]);
  }
  state_[623] = state_[396] ^ twist(state_[623], state_[0]);
  position_ = 0;
}

std::uint32_t MersenneTwister::next() {
  if (position_ == 624) refill();
  ++words_given_;
  std::uint32_t word = state_[position_++];
  word ^= word >> 11;
  word ^= (word << 7) & 0x9d2c5680U;
  word ^= (word << 15) & 0xefc60000U;
  return word ^ (word >> 18);
}

PythonRandom::PythonRandom(std::int64_t seed) {
  const std::uint64_t size =
      seed < 0 ? 0 - static_cast<std::uint64_t>(seed) : static_cast<std::uint64_t>(seed);
  std::vector<std::uint32_t> words{static_cast<std::uint32_t>(size)};
  if (size >> 32 != 0) words.push_back(static_cast<std::uint32_t>(size >> 32));
  twister_.seed_words(words);
}

double PythonRandom::random() {
  const std::uint32_t high = twister_.next() >> 5;
  const std::uint32_t low = twister_.next() >> 6;
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

double PythonRandom::uniform(double a, double b) { return a + (b - a) * random(); }

std::uint64_t PythonRandom::below(std::uint64_t n) {
  LODESTEP_CHECK(n > 0 && n <= 0xffffffffULL, n);
  const int bits = static_cast<int>(std::bit_width(n));
  for (;;) {
    const std::uint32_t draw = twister_.next() >> (32 - bits);
    if (draw < n) return draw;
  }
}

void PythonRandom::skip(std::uint64_t words) {
  for (; words > 0; --words) twister_.next();
}

std::int64_t PythonRandom::randint(std::int64_t low, std::int64_t high) {
  LODESTEP_CHECK(low <= high, low, high);
  return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low) + 1));
}

std::vector<std::size_t> PythonRandom::sample(std::size_t population, std::size_t k) {
  LODESTEP_CHECK(k <= population, k, population);
  // CPython chooses between a pool and a set by this size; the draws differ, so it matters.
  double set_size = 21;
  if (k > 5) {
    set_size += std::pow(4.0, std::ceil(std::log(static_cast<double>(k * 3)) / std::log(4.0)));
  }
  std::vector<std::size_t> picked;
  picked.reserve(k);
  if (static_cast<double>(population) <= set_size) {
    std::vector<std::size_t> pool(population);
    std::iota(pool.begin(), pool.end(), std::size_t{0});
    for (std::size_t i = 0; i < k; ++i) {
      const std::size_t j = below(population - i);
      picked.push_back(pool[j]);
      pool[j] = pool[population - i - 1];
    }
    return picked;
  }
  std::unordered_set<std::uint64_t, ContainerHash> seen;
  while (picked.size() < k) {
    const std::size_t j = below(population);
    if (seen.insert(j).second) picked.push_back(j);
  }
  return picked;
}

std::vector<std::size_t> PythonRandom::choices(std::size_t population, std::size_t k) {
  LODESTEP_CHECK(population > 0);
  std::vector<std::size_t> picked(k);
  for (std::size_t& index : picked) {
    index = static_cast<std::size_t>(random() * static_cast<double>(population));
  }
  return picked;
}

NumpyRandomState::NumpyRandomState(std::uint32_t seed) { twister_.seed_word(seed); }

std::uint32_t NumpyRandomState::masked(std::uint32_t limit) {
  if (limit == 0) return 0;
  const std::uint32_t mask = 0xffffffffU >> std::countl_zero(limit);
  for (;;) {
    const std::uint32_t draw = twister_.next() & mask;
    if (draw <= limit) return draw;
  }
}

std::uint64_t NumpyRandomState::below(std::uint64_t n) {
  LODESTEP_CHECK(n > 0 && n <= 0x100000000ULL, n);
  return masked(static_cast<std::uint32_t>(n - 1));
}

std::int64_t NumpyRandomState::randint(std::int64_t low, std::int64_t high) {
  LODESTEP_CHECK(low < high, low, high);
  return low + static_cast<std::int64_t>(below(static_cast<std::uint64_t>(high - low)));
}

std::vector<std::size_t> NumpyRandomState::choice(std::size_t population, std::size_t size) {
  LODESTEP_CHECK(size <= population, size, population);
  std::vector<std::size_t> order(population);
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(order);
  order.resize(size);
  return order;
}

}  // namespace lodestep
