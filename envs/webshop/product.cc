#include "envs/webshop/product.h"

#include <algorithm>

#include "base/check.h"
#include "envs/webshop/unicode.h"

namespace lodestep::webshop {
namespace {

static_assert(sizeof(PackedHead) == 64);

class Packer {
 public:
  void text(std::string_view value) {
    bytes_ += value;
    begins_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  void texts(const std::vector<std::string>& values) {
    for (const std::string& value : values) text(value);
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(begins_.size() - 1); }
  void mark() { firsts_.push_back(count()); }  // the next text is the first of something

  std::string finish(PackedHead head) {
    head.texts_at = static_cast<std::uint32_t>(sizeof head + 4 * firsts_.size());
    head.bytes_at = static_cast<std::uint32_t>(head.texts_at + 4 * begins_.size());
    std::string out;
    out.reserve(head.bytes_at + bytes_.size() + 8);
    out.append(reinterpret_cast<const char*>(&head), sizeof head);
    out.append(reinterpret_cast<const char*>(firsts_.data()), 4 * firsts_.size());
    out.append(reinterpret_cast<const char*>(begins_.data()), 4 * begins_.size());
    out += bytes_;
    out.resize((out.size() + 7) / 8 * 8, '\0');
    return out;
  }

 private:
  std::vector<std::uint32_t> firsts_, begins_{0};
  std::string bytes_;
};

}  // namespace

std::string TextList::join(std::string_view separator) const {
  std::string out;
  for (std::size_t i = 0; i < size(); ++i) {
    if (i > 0) out += separator;
    out += (*this)[i];
  }
  return out;
}

std::string pack(const ProductRecord& product) {
  PackedHead head{};
  head.record = product.record;
  LODESTEP_CHECK(product.prices.size() <= 2, product.prices.size());
  head.price_count = static_cast<std::uint32_t>(product.prices.size());
  std::copy(product.prices.begin(), product.prices.end(), head.prices);
  head.has_instruction = product.instruction ? 1 : 0;
  head.has_nouns = product.nouns ? 1 : 0;
  head.options = static_cast<std::uint32_t>(product.options.size());
  head.human = static_cast<std::uint32_t>(product.human.size());
  Packer packer;
  for (const std::string* single : {&product.asin, &product.title, &product.description, &product.category,
                                    &product.query, &product.product_category, &product.price_text}) {
    packer.text(*single);
  }
  packer.text(product.instruction.value_or(""));
  static const std::vector<std::string> kNone;
  std::uint32_t* end = head.list_end;
  for (const std::vector<std::string>* list :
       {&product.bullets, &product.attributes, &product.instruction_attributes,
        product.nouns ? &*product.nouns : &kNone}) {
    packer.texts(*list);
    *end++ = packer.count();
  }
  for (const OptionRecord& option : product.options) {
    packer.mark();
    packer.text(option.name);
    packer.texts(option.values);
  }
  packer.mark();
  for (const HumanRecord& human : product.human) {
    packer.mark();
    packer.text(human.text);
    packer.texts(human.attributes);
    packer.mark();
    packer.texts(human.options);
  }
  packer.mark();
  return packer.finish(head);
}

std::optional<std::string_view> Product::instruction() const {
  return head().has_instruction == 0 ? std::nullopt : std::optional(texts()[7]);
}

std::optional<TextList> Product::nouns() const {
  return head().has_nouns == 0 ? std::nullopt : std::optional(list(3));
}

std::string search_text(const Product& product) {
  std::string text(product.title());
  (text += ' ') += product.description();
  text += ' ';
  if (!product.bullets().empty()) text += product.bullets().front();
  text += ' ';
  const char* separator = "";
  for (const ProductOption option : product.options()) {
    ((text += separator) += option.name) += ": ";
    text += option.values.join(", ");
    separator = ", and ";
  }
  return python_lower(text);
}

}  // namespace lodestep::webshop
