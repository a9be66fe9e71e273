// Numpy arrays that own what they show.
//   nb::object rewards = array(std::move(vector));
// Threads: call with the GIL held.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace lodestep::python {

template <typename T>
nanobind::object array(std::vector<T> values) {
  auto* owned = new std::vector<T>(std::move(values));
  const nanobind::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nanobind::cast(
      nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(owned->data(), {owned->size()}, owner));
}

inline nanobind::object bool_array(const std::vector<std::uint8_t>& values) {
  bool* owned = new bool[values.size()];
  std::copy(values.begin(), values.end(), owned);
  const nanobind::capsule owner(owned, [](void* p) noexcept { delete[] static_cast<bool*>(p); });
  return nanobind::cast(
      nanobind::ndarray<nanobind::numpy, bool, nanobind::ndim<1>>(owned, {values.size()}, owner));
}

}  // namespace lodestep::python
