// How `robust` weighs its evidence; the defaults are those of docs/matchers.md.
//   NoiseFinder finder({.witness = Witness::kFirst}, model);
// Threads: plain values.
#pragma once

#include <cstdint>

#include "canonicalizer/guard.h"

namespace lodestep::canonicalizer {

enum class LineOrder { kAuto, kKeep, kSorted };
enum class Witness {
  kStrict,   // first views of a group; views after the same action in the same state
  kFirst,    // first views only: for worlds with chance or hidden state
  kRelaxed,  // also views that agree in action taken, actions and known genuine lines
};

enum class Typos { kOff, kOn };

struct NoiseSettings {
  Guard guard = Guard::kActions;
  std::uint32_t min_support = 1;  // noise votes that a verdict of noise needs
  double ratio = 0.2;             // noise votes per genuine vote that it needs
  double word_sum = 2;            // the word model's least sum of weights
  double word_mean = 0.3;         // and mean per feature
  int rounds = 3;
  LineOrder order = LineOrder::kAuto;
  Witness witness = Witness::kStrict;
  Typos typos = Typos::kOff;
};

}  // namespace lodestep::canonicalizer
