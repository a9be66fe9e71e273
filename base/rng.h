// Random numbers that are the same everywhere: our own counter streams, and the two Python
// generators whose streams the original environments used.
//   Stream dice(Hasher().add(run).add(task).add_u64(member).add_u64(t).finish());
//   std::size_t choice = dice.below(actions.size());
// Threads: one object, one thread. Sources: Matsumoto and Nishimura 1998 (MT19937); CPython 3.11
// Lib/random.py; numpy 1.24 legacy RandomState. Golden values in tests/unit/base.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace lodestep {

// A stream named by a 128-bit key; draw i depends on the key and on i alone.
class Stream {
 public:
  explicit Stream(const Hash128& key) : key_(key) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t n);  // uniform in [0, n); n > 0
  double unit();                         // uniform in [0, 1), 53 bits

 private:
  Hash128 key_;
  std::uint64_t count_ = 0;
};

// The 32-bit Mersenne twister under both Python generators. Counts the words it gave.
class MersenneTwister {
 public:
  void seed_word(std::uint32_t seed);                        // init_genrand
  void seed_words(const std::vector<std::uint32_t>& words);  // init_by_array
  std::uint32_t next();
  std::uint64_t words_given() const { return words_given_; }

 private:
  void refill();
  std::array<std::uint32_t, 624> state_{};
  std::size_t position_ = 624;
  std::uint64_t words_given_ = 0;
};

// CPython's `random` module: equal draws for equal seeds (3.8 to 3.11 and later).
class PythonRandom {
 public:
  explicit PythonRandom(std::int64_t seed = 0);               // random.seed(int): |seed| is used
  double random();                                            // [0, 1), two words
  double uniform(double a, double b);                         // a + (b - a) * random()
  std::uint64_t below(std::uint64_t n);                       // _randbelow_with_getrandbits; n > 0
  std::int64_t randint(std::int64_t low, std::int64_t high);  // both ends included
  std::vector<std::size_t> sample(std::size_t population, std::size_t k);   // indices
  std::vector<std::size_t> choices(std::size_t population, std::size_t k);  // indices
  template <typename T>
  void shuffle(std::vector<T>& items);  // in place
  void skip(std::uint64_t words);       // as if so many 32-bit words had been drawn
  std::uint64_t words_given() const { return twister_.words_given(); }

 private:
  MersenneTwister twister_;
};

// numpy's legacy global generator, `numpy.random.RandomState`.
class NumpyRandomState {
 public:
  explicit NumpyRandomState(std::uint32_t seed);
  std::uint64_t below(std::uint64_t n);  // randint(n), masked rejection; n == 1 draws nothing
  std::int64_t randint(std::int64_t low, std::int64_t high);  // high excluded; high - low <= 2^32
  template <typename T>
  void shuffle(std::vector<T>& items);                                        // in place
  std::vector<std::size_t> choice(std::size_t population, std::size_t size);  // without replacement
  std::uint64_t words_given() const { return twister_.words_given(); }

 private:
  std::uint32_t masked(std::uint32_t limit);  // uniform in [0, limit]
  MersenneTwister twister_;
};

template <typename T>
void PythonRandom::shuffle(std::vector<T>& items) {
  for (std::size_t i = items.size(); i-- > 1;) std::swap(items[i], items[below(i + 1)]);
}

template <typename T>
void NumpyRandomState::shuffle(std::vector<T>& items) {
  for (std::size_t i = items.size(); i-- > 1;) {
    std::swap(items[i], items[masked(static_cast<std::uint32_t>(i))]);
  }
}

}  // namespace lodestep
