#include "graph/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lodestep::graph {
namespace {

// Neumaier's sum: the error does not grow with the count, and hardly depends on the order.
class Sum {
 public:
  void add(double x) {
    const double total = total_ + x;
    error_ += std::abs(total_) >= std::abs(x) ? (total_ - total) + x : (x - total) + total_;
    total_ = total;
  }
  double value() const { return total_ + error_; }

 private:
  double total_ = 0;
  double error_ = 0;
};

// Mid-ranks of x among members, mapped to [-1, 1]; all equal gives 0.
void rank(std::span<const double> members, std::span<const double> x, std::span<double> out) {
  std::vector<double> sorted(members.begin(), members.end());
  std::sort(sorted.begin(), sorted.end());
  const double last = static_cast<double>(sorted.size()) - 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto [low, high] = std::equal_range(sorted.begin(), sorted.end(), x[i]);
    const double below = static_cast<double>(low - sorted.begin());
    const double not_above = static_cast<double>(high - sorted.begin()) - (low == high ? 0 : 1);
    out[i] = last > 0 ? (below + not_above) / last - 1 : 0;
  }
}

}  // namespace

Normaliser Normaliser::with_least(std::size_t members) const {
  Normaliser copy = *this;
  copy.least = members;
  return copy;
}

Moments moments(std::span<const double> values, int ddof) {
  Moments result;
  result.count = values.size();
  if (values.empty()) return result;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  result.largest = std::max(std::abs(*low), std::abs(*high));
  if (*low == *high) {  // a rounded mean of equal numbers need not be that number
    result.mean = *low;
    return result;
  }
  Sum sum;
  for (double x : values) sum.add(x);
  const double n = static_cast<double>(values.size());
  result.mean = sum.value() / n;
  Sum squares;
  for (double x : values) squares.add((x - result.mean) * (x - result.mean));
  if (n > ddof) result.std = std::sqrt(squares.value() / (n - ddof));
  return result;
}

void normalise(const Normaliser& normaliser, std::span<const double> members, std::span<const double> x,
               std::span<double> out) {
  LODESTEP_CHECK(x.size() == out.size(), x.size(), out.size());
  if (normaliser.scale == Scale::kAsIs) {
    std::copy(x.begin(), x.end(), out.begin());
    return;
  }
  if (normaliser.scale == Scale::kRank && members.size() >= std::max<std::size_t>(normaliser.least, 2)) {
    return rank(members, x, out);
  }
  if (members.size() < std::max<std::size_t>(normaliser.least, 2)) {
    const bool raw = normaliser.lone == Lone::kRaw;
    const double scale = normaliser.scale == Scale::kStd ? 1 + normaliser.eps : 1;
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = raw ? x[i] / scale : 0;
    return;
  }
  const Moments m = moments(members, normaliser.ddof);
  const double n = static_cast<double>(m.count);
  const double others = normaliser.leave_one_out ? n / (n - 1) : 1;
  const bool flat = m.std <= normaliser.std_floor * m.largest;
  const double scale = normaliser.scale == Scale::kStd ? m.std + normaliser.eps : 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double deviation = (x[i] - m.mean) * others;
    // Without spread nothing was compared; an x that is no member may still differ from the mean.
    out[i] = (flat && std::abs(x[i] - m.mean) <= normaliser.std_floor * m.largest) || scale == 0
                 ? 0
                 : deviation / scale;
  }
}

std::vector<OptionSpec> normaliser_options(const std::string& default_mode) {
  return {
      {"mode",
       default_mode,
       "mean_std_norm: (x - mean) / (std + eps); mean_norm: x - mean",
       {"mean_std_norm", "mean_norm"}},
      {"norm_by_std", "", "true or false: the same switch under GRPO's name", {}},
      {"normalize", "", "std, mean, rank or none; over mode when given", {"", "std", "mean", "rank", "none"}},
      {"baseline", "mean", "mean of the group, or of its other members", {"mean", "leave_one_out"}},
      {"std", "sample", "sample (n - 1) or population (n) deviation", {"sample", "population"}},
      {"ddof", "", "1 sample, 0 population: the same switch as a number", {"", "0", "1"}},
      {"eps", "1e-6", "added to the deviation before dividing", {}},
      {"epsilon", "", "the same as eps", {}},
      {"std_floor", "1e-12", "a deviation below this share of the largest member counts as 0", {}},
  };
}

Normaliser read_normaliser(OptionReader& read) {
  Normaliser normaliser;
  normaliser.scale = read.is("mode", "mean_norm") ? Scale::kMean : Scale::kStd;
  if (!read.text("norm_by_std").empty()) {
    normaliser.scale = read.flag("norm_by_std") ? Scale::kStd : Scale::kMean;
  }
  const std::string& scale = read.text("normalize");
  if (scale == "std") normaliser.scale = Scale::kStd;
  if (scale == "mean") normaliser.scale = Scale::kMean;
  if (scale == "rank") normaliser.scale = Scale::kRank;
  if (scale == "none") normaliser.scale = Scale::kAsIs;
  normaliser.ddof = read.is("std", "population") ? 0 : 1;
  if (!read.text("ddof").empty()) normaliser.ddof = read.is("ddof", "0") ? 0 : 1;
  normaliser.eps = read.number(read.either("eps", "epsilon"), 0);
  normaliser.std_floor = read.number("std_floor", 0, 1);
  normaliser.leave_one_out = read.is("baseline", "leave_one_out");
  return normaliser;
}

}  // namespace lodestep::graph
