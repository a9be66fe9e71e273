// Mean, deviation and normalisation of a group's numbers, where equal numbers deviate by exactly 0.
//   Moments m = moments(returns, /*ddof=*/1);
//   normalise(Normaliser{}, returns, returns, advantages);
// Threads: pure functions. All in double; two passes (a one-pass variance can be negative).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/options.h"
#include "graph/option_reader.h"

namespace lodestep::graph {

struct Moments {
  std::size_t count = 0;
  double mean = 0;
  double std = 0;      // 0 for fewer than ddof + 1 numbers, and whenever all numbers are equal
  double largest = 0;  // max |x|, the scale that a floor is relative to
};

Moments moments(std::span<const double> values, int ddof);

enum class Scale {
  kStd,   // (x - mean) / (std + eps)
  kMean,  // x - mean
  kRank,  // mid-rank, from -1 (worst) to 1 (best); ties share
  kAsIs,  // x
};

enum class Lone { kZero, kRaw };  // a group of one: 0, or x as if mean were 0 and std 1

struct Normaliser {
  Scale scale = Scale::kStd;
  Lone lone = Lone::kZero;
  int ddof = 1;  // 1 sample, 0 population
  double eps = 1e-6;
  double std_floor = 1e-12;    // a std below std_floor * max|x| counts as 0: no signal
  std::size_t least = 2;       // groups of fewer members compare nothing: like a group of one
  bool leave_one_out = false;  // each member against the mean of the others
  Normaliser with_least(std::size_t members) const;
};

// out[i] = x[i] on the scale of the group whose members are `members` (often x itself, or one number per
// trajectory). A group without spread gives exactly 0 where x equals the mean. Sizes of x and out agree.
void normalise(const Normaliser& normaliser, std::span<const double> members, std::span<const double> x,
               std::span<double> out);

// The options that set a Normaliser: mode, norm_by_std, normalize, eps/epsilon, ddof/std, std_floor,
// baseline.
std::vector<OptionSpec> normaliser_options(const std::string& default_mode);
Normaliser read_normaliser(OptionReader& read);

}  // namespace lodestep::graph
