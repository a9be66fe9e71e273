// Advantages over token matrices, as a trainer holds them: one row per response, one column per token.
//   TokenMatrix rewards{2, 4, {0, 0, 10, 0,  0, -0.1, 0, 0}};
//   Result<TokenCredit> credit = token_gae(rewards, values, mask, {.gamma = 1, .lambda = 0.95});
// Threads: pure functions. Source: the PPO core of the released code (docs/credit.md), computed in double;
// masks hold 0 and 1. Matrices of unequal shape are refused, and so is whitening over fewer than two tokens.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"

namespace lodestep::graph {

struct TokenMatrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values;  // row-major, rows * columns
  double& at(std::size_t row, std::size_t column) { return values[row * columns + column]; }
  double at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
};

struct TokenCredit {
  TokenMatrix advantage, returns;
};

struct GaeOptions {
  double gamma = 1, lambda = 1;
};

// (x - mean) / sqrt(variance + 1e-8) over the unmasked entries; masked entries are moved and scaled alike.
Result<TokenMatrix> whiten(const TokenMatrix& x, const TokenMatrix& mask);

// PPO's estimator. Nothing is masked in the recursion, so values after the end leak in, as in the original.
Result<TokenCredit> token_gae(const TokenMatrix& rewards, const TokenMatrix& values, const TokenMatrix& mask,
                              const GaeOptions& options);
// REINFORCE++: discounted reward-to-go, whitened; what a masked token carries on is nothing.
Result<TokenCredit> token_reinforce_plus_plus(const TokenMatrix& rewards, const TokenMatrix& mask,
                                              double gamma);
// ReMax: reward-to-go less the reward of a greedy response, one per row.
Result<TokenCredit> token_remax(const TokenMatrix& rewards, std::span<const double> baselines,
                                const TokenMatrix& mask);
// Optimal token baseline (arXiv 2602.07078) for one group, one response a row: reward-to-go less the mean of
// the group's at the same column, weighted by the energy realised so far (the running sum of `energy`).
Result<TokenCredit> token_otb(const TokenMatrix& rewards, const TokenMatrix& energy, const TokenMatrix& mask,
                              double eps);

}  // namespace lodestep::graph
