// A product, twice: as the import makes it, owning its texts, and as a view of its packed bytes, which costs
// nothing to make.
//   const std::string bytes = pack(record);   const Product product(bytes.data());   product.title();
//   for (const ProductOption option : product.options()) use(option.name, option.values);
// Threads: values. A Product and all that it hands out borrow the packed bytes, which begin at a multiple of
// 8 and were written by pack(); nothing is checked again. All texts UTF-8, after the original's loading
// rules.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envs/webshop/list_view.h"

namespace lodestep::webshop {

struct OptionRecord {
  std::string name;
  std::vector<std::string> values;  // in file order, repeats kept
};

struct HumanRecord {
  std::string text;
  std::vector<std::string> attributes;
  std::vector<std::string> options;
};

struct ProductRecord {
  std::string asin;
  std::string title;        // verbatim
  std::string description;  // verbatim
  std::vector<std::string> bullets;
  std::vector<double> prices;  // one, or the two ends of a range
  std::string price_text;      // "$12.99" or "$10.0 to $20.0"
  std::vector<OptionRecord> options;
  std::vector<std::string> attributes;
  std::string category;
  std::string query;
  std::string product_category;
  std::optional<std::string> instruction;  // synthetic goals
  std::vector<std::string> instruction_attributes;
  std::vector<HumanRecord> human;
  std::optional<std::vector<std::string>>
      nouns;                 // of the title, lower-case, repeats kept; nullopt: not tagged
  std::uint64_t record = 0;  // position in the product file, before anything was dropped
};

// The packed form: this head, the first text of each option and then of each human instruction and its
// options, where each text begins, and the texts. Texts are numbered through: the eight single ones, the
// lists, the options (name, values), the human instructions (text, attributes, options).
struct PackedHead {
  std::uint64_t record;
  double prices[2];
  std::uint32_t price_count;
  std::uint16_t has_instruction, has_nouns;
  std::uint32_t options, human;  // how many
  std::uint32_t list_end[4];     // the text after the last one of bullets, attributes, ...
  std::uint32_t texts_at;        // bytes from the head to where the texts' beginnings are listed
  std::uint32_t bytes_at;        // and to the texts
};

std::string pack(const ProductRecord& product);  // size is a multiple of 8

struct ProductOption {
  std::string_view name;
  TextList values;
};

struct HumanInstruction {
  std::string_view text;
  TextList attributes, options;
};

class OptionList : public ListView<OptionList> {
 public:
  OptionList(const std::uint32_t* first, std::uint32_t count, TextList texts)
      : first_(first), count_(count), texts_(texts) {}
  std::size_t size() const { return count_; }
  ProductOption operator[](std::size_t i) const {
    return {texts_[first_[i]], texts_.part(first_[i] + 1, first_[i + 1])};
  }

 private:
  const std::uint32_t* first_;
  std::uint32_t count_;
  TextList texts_;
};

class HumanList : public ListView<HumanList> {
 public:
  HumanList(const std::uint32_t* first, std::uint32_t count, TextList texts)
      : first_(first), count_(count), texts_(texts) {}
  std::size_t size() const { return count_; }
  HumanInstruction operator[](std::size_t i) const {
    const std::uint32_t* at = first_ + 2 * i;
    return {texts_[at[0]], texts_.part(at[0] + 1, at[1]), texts_.part(at[1], at[2])};
  }

 private:
  const std::uint32_t* first_;
  std::uint32_t count_;
  TextList texts_;
};

class Product {
 public:
  explicit Product(const char* packed) : packed_(packed) {}

  std::string_view asin() const { return texts()[0]; }
  std::string_view title() const { return texts()[1]; }
  std::string_view description() const { return texts()[2]; }
  std::string_view category() const { return texts()[3]; }
  std::string_view query() const { return texts()[4]; }
  std::string_view product_category() const { return texts()[5]; }
  std::string_view price_text() const { return texts()[6]; }
  std::optional<std::string_view> instruction() const;
  TextList bullets() const { return list(0); }
  TextList attributes() const { return list(1); }
  TextList instruction_attributes() const { return list(2); }
  std::optional<TextList> nouns() const;
  OptionList options() const { return {firsts(), head().options, texts()}; }
  HumanList human() const { return {firsts() + head().options + 1, head().human, texts()}; }
  std::span<const double> prices() const { return {head().prices, head().price_count}; }
  std::uint64_t record() const { return head().record; }

 private:
  static constexpr std::uint32_t kSingleTexts = 8;

  const PackedHead& head() const { return *reinterpret_cast<const PackedHead*>(packed_); }
  const std::uint32_t* firsts() const {
    return reinterpret_cast<const std::uint32_t*>(packed_ + sizeof(PackedHead));
  }
  TextList texts() const {
    return {reinterpret_cast<const std::uint32_t*>(packed_ + head().texts_at), 0, packed_ + head().bytes_at};
  }
  TextList list(std::size_t i) const {
    return texts().part(i == 0 ? kSingleTexts : head().list_end[i - 1], head().list_end[i]);
  }

  const char* packed_;
};

// The text that is indexed: title, description, first bullet and options, lower-case.
std::string search_text(const Product& product);

}  // namespace lodestep::webshop
