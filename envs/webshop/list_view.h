// Lists that lie packed in a catalogue's image: random access and iteration, elements made on demand.
//   const TextList bullets = product.bullets();
//   for (const std::string_view bullet : bullets) ...   bullets[0]   bullets.join(" ")
// Threads: values. They borrow the bytes they point into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace lodestep::webshop {

template <typename List>
class ListIterator {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_cvref_t<decltype(std::declval<const List&>()[0])>;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  ListIterator(const List& list, std::size_t at) : list_(list), at_(at) {}
  value_type operator*() const { return list_[at_]; }
  ListIterator& operator++() { return ++at_, *this; }
  ListIterator& operator--() { return --at_, *this; }
  ListIterator& operator+=(std::ptrdiff_t steps) {
    at_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(at_) + steps);
    return *this;
  }
  friend ListIterator operator+(ListIterator it, std::ptrdiff_t steps) { return it += steps; }
  friend std::ptrdiff_t operator-(const ListIterator& a, const ListIterator& b) {
    return static_cast<std::ptrdiff_t>(a.at_) - static_cast<std::ptrdiff_t>(b.at_);
  }
  bool operator==(const ListIterator& other) const { return at_ == other.at_; }

 private:
  List list_;
  std::size_t at_;
};

// What a list with size() and operator[] gets for nothing.
template <typename List>
class ListView {
 public:
  bool empty() const { return self().size() == 0; }
  ListIterator<List> begin() const { return {self(), 0}; }
  ListIterator<List> end() const { return {self(), self().size()}; }

 private:
  const List& self() const { return static_cast<const List&>(*this); }
};

// Texts one after another; `begins` has one entry more than there are texts.
class TextList : public ListView<TextList> {
 public:
  TextList() = default;
  TextList(const std::uint32_t* begins, std::size_t count, const char* bytes)
      : begins_(begins), count_(count), bytes_(bytes) {}
  std::size_t size() const { return count_; }
  std::string_view operator[](std::size_t i) const {
    return {bytes_ + begins_[i], begins_[i + 1] - begins_[i]};
  }
  std::string_view front() const { return (*this)[0]; }
  TextList part(std::uint32_t first, std::uint32_t end) const {
    return {begins_ + first, end - first, bytes_};
  }
  std::string join(std::string_view separator) const;
  std::vector<std::string> copy() const { return {begin(), end()}; }

 private:
  const std::uint32_t* begins_ = nullptr;
  std::size_t count_ = 0;
  const char* bytes_ = nullptr;
};

}  // namespace lodestep::webshop
