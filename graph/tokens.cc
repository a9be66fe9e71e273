#include "graph/tokens.h"

#include <cmath>
#include <string>

namespace lodestep::graph {
namespace {

Status same_shape(const TokenMatrix& a, const TokenMatrix& b, const char* name) {
  if (a.rows == b.rows && a.columns == b.columns && b.values.size() == b.rows * b.columns) return {};
  return Error{ErrorCode::kInvalidArgument,
               std::string(name) + " is " + std::to_string(b.rows) + " x " + std::to_string(b.columns) +
                   ", the rewards are " + std::to_string(a.rows) + " x " + std::to_string(a.columns),
               name, ""};
}

TokenMatrix like(const TokenMatrix& x) {
  return {x.rows, x.columns, std::vector<double>(x.rows * x.columns, 0)};
}

}  // namespace

Result<TokenMatrix> whiten(const TokenMatrix& x, const TokenMatrix& mask) {
  if (Status s = same_shape(x, mask, "mask"); !s) return s.error();
  double count = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    count += mask.values[i];
    sum += x.values[i] * mask.values[i];
  }
  if (count < 2) {
    return Error{ErrorCode::kInvalidArgument, "whitening needs two unmasked tokens or more", "mask", ""};
  }
  const double mean = sum / (count + 1e-8);
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    squares += (x.values[i] - mean) * (x.values[i] - mean) * mask.values[i];
  }
  const double variance = squares / (count + 1e-8) * (count / (count - 1));
  TokenMatrix out = x;
  for (double& value : out.values) value = (value - mean) / std::sqrt(variance + 1e-8);
  return out;
}

Result<TokenCredit> token_gae(const TokenMatrix& rewards, const TokenMatrix& values, const TokenMatrix& mask,
                              const GaeOptions& options) {
  if (Status s = same_shape(rewards, values, "values"); !s) return s.error();
  TokenMatrix advantage = like(rewards), returns = like(rewards);
  for (std::size_t row = 0; row < rewards.rows; ++row) {
    double carried = 0, next_value = 0;
    for (std::size_t t = rewards.columns; t-- > 0;) {
      const double delta = rewards.at(row, t) + options.gamma * next_value - values.at(row, t);
      carried = delta + options.gamma * options.lambda * carried;
      advantage.at(row, t) = carried;
      returns.at(row, t) = carried + values.at(row, t);
      next_value = values.at(row, t);
    }
  }
  Result<TokenMatrix> whitened = whiten(advantage, mask);
  if (!whitened) return whitened.error();
  return TokenCredit{*std::move(whitened), std::move(returns)};
}

Result<TokenCredit> token_reinforce_plus_plus(const TokenMatrix& rewards, const TokenMatrix& mask,
                                              double gamma) {
  TokenMatrix returns = like(rewards);
  if (Status s = same_shape(rewards, mask, "mask"); !s) return s.error();
  for (std::size_t row = 0; row < rewards.rows; ++row) {
    double carried = 0;
    for (std::size_t t = rewards.columns; t-- > 0;) {
      carried = rewards.at(row, t) + gamma * carried;
      returns.at(row, t) = carried;
      carried *= mask.at(row, t);
    }
  }
  Result<TokenMatrix> whitened = whiten(returns, mask);
  if (!whitened) return whitened.error();
  for (std::size_t i = 0; i < mask.values.size(); ++i) whitened->values[i] *= mask.values[i];
  return TokenCredit{*std::move(whitened), std::move(returns)};
}

Result<TokenCredit> token_remax(const TokenMatrix& rewards, std::span<const double> baselines,
                                const TokenMatrix& mask) {
  if (Status s = same_shape(rewards, mask, "mask"); !s) return s.error();
  if (baselines.size() != rewards.rows) {
    return Error{ErrorCode::kInvalidArgument, "one baseline per row is needed", "baselines", ""};
  }
  TokenMatrix advantage = like(rewards), returns = like(rewards);
  for (std::size_t row = 0; row < rewards.rows; ++row) {
    double carried = 0;
    for (std::size_t t = rewards.columns; t-- > 0;) {
      carried += rewards.at(row, t) * mask.at(row, t);
      returns.at(row, t) = carried;
      advantage.at(row, t) = carried - baselines[row] * mask.at(row, t);
    }
  }
  return TokenCredit{std::move(advantage), std::move(returns)};
}

Result<TokenCredit> token_otb(const TokenMatrix& rewards, const TokenMatrix& energy, const TokenMatrix& mask,
                              double eps) {
  if (Status s = same_shape(rewards, energy, "energy"); !s) return s.error();
  if (Status s = same_shape(rewards, mask, "mask"); !s) return s.error();
  TokenMatrix advantage = like(rewards), returns = like(rewards), realised = like(rewards);
  for (std::size_t row = 0; row < rewards.rows; ++row) {
    double carried = 0, sum = 0;
    for (std::size_t t = rewards.columns; t-- > 0;) {
      carried += rewards.at(row, t) * mask.at(row, t);
      returns.at(row, t) = carried;
    }
    for (std::size_t t = 0; t < rewards.columns; ++t) {
      sum += energy.at(row, t) * mask.at(row, t);
      realised.at(row, t) = sum;
    }
  }
  for (std::size_t t = 0; t < rewards.columns; ++t) {
    double weighted = 0, weight = 0;
    for (std::size_t row = 0; row < rewards.rows; ++row) {
      weighted += returns.at(row, t) * realised.at(row, t) * mask.at(row, t);
      weight += realised.at(row, t) * mask.at(row, t);
    }
    for (std::size_t row = 0; row < rewards.rows; ++row) {
      advantage.at(row, t) = (returns.at(row, t) - weighted / (weight + eps)) * mask.at(row, t);
    }
  }
  return TokenCredit{std::move(advantage), std::move(returns)};
}

}  // namespace lodestep::graph
