#include "envs/webshop/import.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#include <zlib.h>
#include <zstd.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <unordered_set>

#include "base/text.h"
#include "envs/webshop/catalogue_file.h"
#include "envs/webshop/unicode.h"

namespace lodestep::webshop {
namespace {

using Json = rapidjson::Value;
constexpr std::size_t kChunk = 1U << 16;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// A file's bytes, unpacked where its name says so, as RapidJSON reads them: one at a time, with a position.
class Source {
 public:
  using Ch = char;

  Status open(const std::string& path, const Progress& progress) {
    path_ = path;
    progress_ = progress;
    file_.reset(std::fopen(path.c_str(), "rb"));
    std::error_code error;
    if (!file_ || std::filesystem::is_directory(path, error)) {
      return Error{ErrorCode::kNotFound, "cannot read the file", path, "check the path"};
    }
    size_ = std::filesystem::file_size(path, error);
    if (path.ends_with(".zst")) {
      zstd_.reset(ZSTD_createDStream());
    } else if (path.ends_with(".gz")) {
      gzip_ = std::make_unique<z_stream>();
      *gzip_ = {};
      if (inflateInit2(gzip_.get(), 15 + 32) != Z_OK) return damaged("cannot start unpacking");
    }
    refill();
    return status_;
  }
  ~Source() {
    if (gzip_) inflateEnd(gzip_.get());
  }

  char Peek() const { return at_ < chunk_.size() ? chunk_[at_] : '\0'; }
  char Take() {
    if (at_ >= chunk_.size()) return '\0';
    const char c = chunk_[at_++];
    if (at_ == chunk_.size()) refill();
    return c;
  }
  std::size_t Tell() const { return before_ + at_; }
  // RapidJSON wants these of every stream; only writable ones use them.
  char* PutBegin() { return nullptr; }
  void Put(char) {}
  void Flush() {}
  std::size_t PutEnd(char*) { return 0; }

  bool at_end() const { return at_ >= chunk_.size(); }
  const Status& status() const { return status_; }
  const std::string& path() const { return path_; }
  Hash128 digest() const { return digest_; }  // of the unpacked bytes read so far

 private:
  struct FreeZstd {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  Error damaged(const std::string& what) const {
    return Error{ErrorCode::kBadData, what, path_ + ", byte " + std::to_string(before_ + at_),
                 "is the file complete?"};
  }

  // Packed input is read into packed_; a chunk is always filled up, so that the digest does not depend
  // on how the file was packed.
  void refill() {
    before_ += chunk_.size();
    at_ = 0;
    chunk_.resize(kChunk);
    std::size_t filled = 0;
    while (filled < kChunk && status_.ok()) {
      const std::size_t more = unpack(chunk_.data() + filled, kChunk - filled);
      if (more == 0) break;
      filled += more;
    }
    chunk_.resize(filled);
    if (filled > 0) digest_ = Hasher().add_u64(digest_.high).add_u64(digest_.low).add(chunk_).finish();
    if (progress_) progress_(read_, size_);
  }
  bool more_packed() {
    if (packed_at_ < packed_.size()) return true;
    packed_.resize(kChunk);
    packed_.resize(std::fread(packed_.data(), 1, kChunk, file_.get()));
    read_ += packed_.size();
    packed_at_ = 0;
    return !packed_.empty();
  }
  std::size_t unpack(char* to, std::size_t room) {
    if (!zstd_ && !gzip_) {
      const std::size_t count = std::fread(to, 1, room, file_.get());
      read_ += count;
      return count;
    }
    for (;;) {
      if (!more_packed()) {
        if (open_frame_) status_ = damaged("the packed file ends too early");
        return 0;
      }
      std::size_t written = 0;
      if (zstd_) {
        ZSTD_inBuffer in{packed_.data(), packed_.size(), packed_at_};
        ZSTD_outBuffer out{to, room, 0};
        const std::size_t left = ZSTD_decompressStream(zstd_.get(), &out, &in);
        if (ZSTD_isError(left) != 0) {
          status_ = damaged(std::string("not zstd: ") + ZSTD_getErrorName(left));
          return 0;
        }
        open_frame_ = left != 0;
        packed_at_ = in.pos;
        written = out.pos;
      } else {
        gzip_->next_in = reinterpret_cast<Bytef*>(packed_.data() + packed_at_);
        gzip_->avail_in = static_cast<uInt>(packed_.size() - packed_at_);
        gzip_->next_out = reinterpret_cast<Bytef*>(to);
        gzip_->avail_out = static_cast<uInt>(room);
        const int result = inflate(gzip_.get(), Z_NO_FLUSH);
        packed_at_ = packed_.size() - gzip_->avail_in;
        written = room - gzip_->avail_out;
        if (result == Z_STREAM_END) {
          inflateReset(gzip_.get());
          open_frame_ = false;
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
          status_ = damaged("not gzip");
          return 0;
        } else {
          open_frame_ = true;
        }
      }
      if (written > 0) return written;
    }
  }

  std::string path_;
  Progress progress_;
  std::unique_ptr<std::FILE, CloseFile> file_;
  std::unique_ptr<ZSTD_DStream, FreeZstd> zstd_;
  std::unique_ptr<z_stream> gzip_;
  std::string chunk_, packed_;
  std::size_t at_ = 0, packed_at_ = 0, before_ = 0;
  std::uint64_t read_ = 0, size_ = 0;
  bool open_frame_ = false;
  Status status_;
  Hash128 digest_;
};

using Each = std::function<Status(const std::string& key, const Json& value)>;

// Hands out the elements of a top-level array or object one by one, so that one record is in memory.
// Values wait on a stack until the bracket that holds them closes.
class Records {
 public:
  enum class Shape { kArray, kObject };
  Records(Source& source, Shape shape, Each each) : source_(source), shape_(shape), each_(std::move(each)) {}

  Status read() {
    rapidjson::Reader reader;
    constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
                                rapidjson::kParseFullPrecisionFlag | rapidjson::kParseNanAndInfFlag;
    const rapidjson::ParseResult result = reader.Parse<kFlags>(source_, *this);
    if (!source_.status().ok()) return source_.status();
    if (!status_.ok() || stopped_) return status_;
    if (!result.IsError()) return {};
    return Error{ErrorCode::kBadData,
                 std::string("malformed JSON: ") + rapidjson::GetParseError_En(result.Code()),
                 source_.path() + ", byte " + std::to_string(result.Offset()), "is the file complete?"};
  }
  void stop() { stopped_ = true; }

  // Events of the reader; false ends it.
  using Size = rapidjson::SizeType;
  bool Null() { return put(Json()); }
  bool Bool(bool b) { return put(Json(b)); }
  bool Int(int i) { return put(Json(i)); }
  bool Uint(unsigned i) { return put(Json(i)); }
  bool Int64(std::int64_t i) { return put(Json(i)); }
  bool Uint64(std::uint64_t i) { return put(Json(i)); }
  bool Double(double d) { return put(Json(d)); }
  bool RawNumber(const char*, Size, bool) { return put(Json()); }
  bool String(const char* text, Size size, bool) { return put(Json(text, size, memory_)); }
  bool Key(const char* text, Size size, bool) {
    if (depth_ == 1) {
      key_.assign(text, size);
    } else {
      stack_.emplace_back(text, size, memory_);
    }
    return true;
  }
  bool StartObject() { return open(Shape::kObject); }
  bool StartArray() { return open(Shape::kArray); }
  bool EndObject(Size count) {
    if (--depth_ == 0) return true;
    Json object(rapidjson::kObjectType);
    for (std::size_t i = stack_.size() - 2 * count; i < stack_.size(); i += 2) {
      object.AddMember(stack_[i], stack_[i + 1], memory_);
    }
    stack_.resize(stack_.size() - 2 * count);
    return put(std::move(object));
  }
  bool EndArray(Size count) {
    if (--depth_ == 0) return true;
    Json array(rapidjson::kArrayType);
    array.Reserve(count, memory_);
    for (std::size_t i = stack_.size() - count; i < stack_.size(); ++i) array.PushBack(stack_[i], memory_);
    stack_.resize(stack_.size() - count);
    return put(std::move(array));
  }

 private:
  bool open(Shape shape) {
    if (depth_++ == 0 && shape != shape_) return mismatch();
    return true;
  }
  bool mismatch() {
    status_ =
        Error{ErrorCode::kBadData,
              shape_ == Shape::kObject ? "the file is not a JSON object" : "the file is not a JSON array",
              source_.path() + ", byte 0", "is it the right file?"};
    return false;
  }
  bool put(Json value) {
    if (depth_ == 0) return mismatch();
    if (depth_ > 1) {
      stack_.push_back(std::move(value));
      return true;
    }
    status_ = each_(key_, value);
    stack_.clear();
    value.SetNull();
    memory_.Clear();
    return status_.ok() && !stopped_;
  }

  Source& source_;
  Shape shape_;
  Each each_;
  Status status_;
  bool stopped_ = false;
  int depth_ = 0;
  std::string key_;
  rapidjson::Document::AllocatorType memory_;
  std::vector<Json> stack_;
};

// Python's dict: of equal keys the last one counts.
const Json* member(const Json& object, std::string_view name) {
  for (auto at = object.MemberEnd(); at != object.MemberBegin();) {
    --at;
    if (std::string_view(at->name.GetString(), at->name.GetStringLength()) == name) return &at->value;
  }
  return nullptr;
}

std::string text_of(const Json& value) { return {value.GetString(), value.GetStringLength()}; }

Error wrong(const std::string& field, const std::string& expected) {
  return Error{ErrorCode::kBadData, "field '" + field + "' must be " + expected, "", ""};
}

Result<std::string> string_field(const Json& object, const std::string& name) {
  const Json* value = member(object, name);
  if (value == nullptr || !value->IsString()) return wrong(name, "a text");
  return text_of(*value);
}

Result<std::vector<std::string>> strings(const Json& value, const std::string& name) {
  if (!value.IsArray()) return wrong(name, "a list of texts");
  std::vector<std::string> out;
  for (const Json& item : value.GetArray()) {
    if (!item.IsString()) return wrong(name, "a list of texts");
    out.push_back(text_of(item));
  }
  return out;
}

// "$12.99" or "$10 - $20": the digits and points after each "$".
Status read_price(const Json* value, ProductRecord& product) {
  product.prices = {100.0};
  product.price_text = "$100.0";
  if (value == nullptr || value->IsNull() || (value->IsString() && value->GetStringLength() == 0)) return {};
  if (!value->IsString()) return wrong("pricing", "a text");
  product.prices.clear();
  const std::string text = text_of(*value);
  const std::vector<std::string_view> pieces = split(text, '$');
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    std::string number;
    for (const char32_t c : to_points(pieces[i])) {
      if (c == U'.') number += '.';
      if (const int digit = decimal_digit(c); digit >= 0) number += static_cast<char>('0' + digit);
    }
    double price = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), price);
    if (error != std::errc() || end != number.data() + number.size() || !std::isfinite(price)) {
      return wrong("pricing", "empty or like \"$12.99\" or \"$10 - $20\", not \"" + text + "\"");
    }
    product.prices.push_back(price);
  }
  if (product.prices.empty())
    return wrong("pricing", "empty or like \"$12.99\" or \"$10 - $20\", not \"" + text + "\"");
  if (product.prices.size() > 2) product.prices.resize(2);
  product.price_text = "$" + python_repr(product.prices[0]);
  if (product.prices.size() == 2) product.price_text += " to $" + python_repr(product.prices[1]);
  return {};
}

std::string option_value(std::string_view raw) {
  std::string spaced;
  for (const char c : python_strip(raw)) {
    if (c == '/') {
      spaced += " | ";
    } else {
      spaced += c;
    }
  }
  return python_lower(spaced);
}

Status read_options(const Json* value, ProductRecord& product) {
  if (value == nullptr || value->IsNull() || (value->IsString() && value->GetStringLength() == 0)) return {};
  if (!value->IsObject()) return wrong("customization_options", "an object, null or \"\"");
  for (auto at = value->MemberBegin(); at != value->MemberEnd(); ++at) {
    const std::string raw_name = text_of(at->name);
    bool repeated = false;  // an equal key came before; its place got the last value already
    for (auto before = value->MemberBegin(); before != at && !repeated; ++before)
      repeated = text_of(before->name) == raw_name;
    if (repeated) continue;
    const Json& contents = *member(*value, raw_name);
    if (contents.IsNull()) continue;
    if (!contents.IsArray()) return wrong("customization_options", "an object of lists");
    OptionRecord option{python_lower(raw_name), {}};
    for (const Json& item : contents.GetArray()) {
      const Json* text = item.IsObject() ? member(item, "value") : nullptr;
      if (text == nullptr || !text->IsString())
        return wrong("customization_options", "lists of {\"value\": text}");
      option.values.push_back(option_value(text_of(*text)));
    }
    const auto same = std::find_if(product.options.begin(), product.options.end(),
                                   [&](const OptionRecord& other) { return other.name == option.name; });
    if (same != product.options.end()) {
      same->values = std::move(option.values);
    } else {
      product.options.push_back(std::move(option));
    }
  }
  return {};
}

// What a record itself holds, in the original's order of checks.
Status read_record(const Json& record, ProductRecord& product) {
  const auto take = [&](const char* name, std::string& target) -> Status {
    Result<std::string> text = string_field(record, name);
    if (!text) return text.error();
    target = std::move(*text);
    return {};
  };
  if (Status s = take("category", product.category); !s) return s;
  if (Status s = take("query", product.query); !s) return s;
  if (Status s = take("product_category", product.product_category); !s) return s;
  if (Status s = take("name", product.title); !s) return s;
  if (Status s = take("full_description", product.description); !s) return s;
  const Json* bullets = member(record, "small_description");
  if (bullets == nullptr) return wrong("small_description", "a list of texts");
  if (bullets->IsString()) {
    product.bullets = {text_of(*bullets)};
  } else {
    Result<std::vector<std::string>> list = strings(*bullets, "small_description");
    if (!list) return list.error();
    product.bullets = std::move(*list);
  }
  if (Status s = read_price(member(record, "pricing"), product); !s) return s;
  if (Status s = read_options(member(record, "customization_options"), product); !s) return s;
  product.query = python_strip(python_lower(product.query));
  product.attributes = {"DUMMY_ATTR"};
  return {};
}

// What the other files say about a product.
struct Beside {
  std::optional<std::vector<std::string>> attributes;
  std::optional<std::string> instruction;
  std::vector<std::string> instruction_attributes;
  std::vector<HumanRecord> human;
  std::optional<std::vector<std::string>> nouns;
};
using BesideMap = std::unordered_map<std::string, Beside, ContainerHash, std::equal_to<>>;

Error at_place(Error error, const Source& source, std::size_t byte, const std::string& asin) {
  error.where = source.path() + ", " + (asin.empty() ? "record" : "product " + asin) + " before byte " +
                std::to_string(byte);
  return error;
}

Result<Hash128> read_attributes(const std::string& path, BesideMap& beside, const Progress& progress) {
  Source source;
  if (Status s = source.open(path, progress); !s) return s.error();
  Records records(source, Records::Shape::kObject, [&](const std::string& asin, const Json& value) -> Status {
    const auto fail = [&](Error error) { return at_place(std::move(error), source, source.Tell(), asin); };
    if (!value.IsObject()) return fail(wrong(asin, "an object"));
    Beside& entry = beside[asin];
    if (const Json* list = member(value, "attributes")) {
      Result<std::vector<std::string>> texts = strings(*list, "attributes");
      if (!texts) return fail(texts.error());
      entry.attributes = std::move(*texts);
    }
    const Json* instruction = member(value, "instruction");
    if (instruction != nullptr && !instruction->IsNull()) {
      if (!instruction->IsString()) return fail(wrong("instruction", "a text"));
      const Json* list = member(value, "instruction_attributes");
      if (list == nullptr) return fail(wrong("instruction_attributes", "a list of texts"));
      Result<std::vector<std::string>> texts = strings(*list, "instruction_attributes");
      if (!texts) return fail(texts.error());
      if (texts->empty()) return fail(wrong("instruction_attributes", "a list that is not empty"));
      entry.instruction = text_of(*instruction);
      entry.instruction_attributes = std::move(*texts);
    }
    return {};
  });
  if (const Status done = records.read(); !done) return done.error();
  return source.digest();
}

Result<Hash128> read_human(const std::string& path, BesideMap& beside, const Progress& progress) {
  Source source;
  if (Status s = source.open(path, progress); !s) return s.error();
  Records records(source, Records::Shape::kObject, [&](const std::string& asin, const Json& value) -> Status {
    const auto fail = [&](Error error) { return at_place(std::move(error), source, source.Tell(), asin); };
    if (!value.IsArray()) return fail(wrong(asin, "a list of instructions"));
    std::vector<HumanRecord> list;
    for (const Json& item : value.GetArray()) {
      if (!item.IsObject()) return fail(wrong(asin, "a list of objects"));
      HumanRecord human;
      const Json* attributes = member(item, "instruction_attributes");
      if (attributes == nullptr) return fail(wrong("instruction_attributes", "a list of texts"));
      Result<std::vector<std::string>> texts = strings(*attributes, "instruction_attributes");
      if (!texts) return fail(texts.error());
      human.attributes = std::move(*texts);
      if (!human.attributes.empty()) {  // without attributes the original skips it unread
        Result<std::string> text = string_field(item, "instruction");
        if (!text) return fail(text.error());
        human.text = std::move(*text);
        const Json* options = member(item, "instruction_options");
        if (options == nullptr) return fail(wrong("instruction_options", "a list of texts"));
        texts = strings(*options, "instruction_options");
        if (!texts) return fail(texts.error());
        human.options = std::move(*texts);
      }
      list.push_back(std::move(human));
    }
    beside[asin].human = std::move(list);
    return {};
  });
  if (const Status done = records.read(); !done) return done.error();
  return source.digest();
}

Result<Hash128> read_nouns(const std::string& path, BesideMap& beside, const Progress& progress) {
  Source source;
  if (Status s = source.open(path, progress); !s) return s.error();
  std::string line;
  for (std::size_t number = 1; !source.at_end(); ++number) {
    line.clear();
    while (!source.at_end()) {
      const char c = source.Take();
      if (c == '\n') break;
      line += c;
    }
    if (trim(line).empty()) continue;
    const auto fail = [&](const std::string& what) {
      return Error{ErrorCode::kBadData, what, path + ", line " + std::to_string(number), ""};
    };
    rapidjson::Document entry;
    entry.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag>(line.data(),
                                                                                        line.size());
    if (entry.HasParseError()) {
      return fail(std::string("malformed JSON: ") + rapidjson::GetParseError_En(entry.GetParseError()) +
                  " at byte " + std::to_string(entry.GetErrorOffset()) + " of the line");
    }
    const Json* asin = entry.IsObject() ? member(entry, "asin") : nullptr;
    const Json* tokens = entry.IsObject() ? member(entry, "tokens") : nullptr;
    if (asin == nullptr || !asin->IsString() || tokens == nullptr || !tokens->IsArray()) {
      return fail("a line must be {\"asin\": text, \"tokens\": [[text, part of speech], ...]}");
    }
    std::vector<std::string> nouns;
    for (const Json& token : tokens->GetArray()) {
      if (!token.IsArray() || token.Size() != 2 || !token[0].IsString() || !token[1].IsString()) {
        return fail("each token must be [text, part of speech]");
      }
      const std::string tag = text_of(token[1]);
      if (tag == "NOUN" || tag == "PROPN") nouns.push_back(python_lower(text_of(token[0])));
    }
    std::optional<std::vector<std::string>>& known = beside[text_of(*asin)].nouns;
    if (!known) known = std::move(nouns);  // of products with one id the first one is kept, so of lines too
  }
  if (!source.status().ok()) return source.status().error();
  return source.digest();
}

using Keep = std::function<Status(ProductRecord product)>;
using Facts = std::map<std::string, std::string>;

// Everything but where the products go.
Result<ImportReport> read_all(const ImportSources& sources, const Progress& progress, const Keep& keep,
                              Facts& facts) {
  BesideMap beside;
  const auto note = [&facts](const std::string& name, const Result<Hash128>& digest) {
    facts[name + "_input_digest"] = to_hex(*digest);
  };
  if (!sources.attributes.empty()) {
    const Result<Hash128> digest = read_attributes(sources.attributes, beside, {});
    if (!digest) return digest.error();
    note("attributes", digest);
  }
  if (!sources.human_instructions.empty()) {
    const Result<Hash128> digest = read_human(sources.human_instructions, beside, {});
    if (!digest) return digest.error();
    note("human_instructions", digest);
  }
  if (!sources.nouns.empty()) {
    const Result<Hash128> digest = read_nouns(sources.nouns, beside, {});
    if (!digest) return digest.error();
    note("nouns", digest);
  }
  ImportReport report;
  Source source;
  if (Status s = source.open(sources.products, progress); !s) return s.error();
  std::unordered_set<std::string, ContainerHash, std::equal_to<>> seen;
  Records records(source, Records::Shape::kArray, [&](const std::string&, const Json& value) -> Status {
    const std::uint64_t record = report.records++;
    if (sources.limit != 0 && report.records >= sources.limit) records.stop();
    const auto fail = [&](Error error, const std::string& asin) {
      return at_place(std::move(error), source, source.Tell(),
                      asin.empty() ? "#" + std::to_string(record) : asin);
    };
    if (!value.IsObject()) return fail(Error{ErrorCode::kBadData, "a product must be an object", "", ""}, "");
    Result<std::string> asin = string_field(value, "asin");
    if (!asin) return fail(asin.error(), "");
    if (*asin == "nan" || to_points(*asin).size() > 10 || !seen.insert(*asin).second) return {};
    ProductRecord product;
    product.asin = *asin;
    product.record = record;
    if (Status s = read_record(value, product); !s) return fail(s.error(), *asin);
    if (const auto found = beside.find(*asin); found != beside.end()) {
      Beside& more = found->second;
      if (more.attributes) product.attributes = std::move(*more.attributes);
      product.instruction = std::move(more.instruction);
      product.instruction_attributes = std::move(more.instruction_attributes);
      product.human = std::move(more.human);
      product.nouns = std::move(more.nouns);
    }
    ++report.products;
    report.instructions += product.instruction ? 1 : 0;
    report.human += product.human.size();
    report.tagged += product.nouns ? 1 : 0;
    return keep(std::move(product));
  });
  if (const Status done = records.read(); !done) return done.error();
  note("products", source.digest());
  if (report.products == 0) {
    return Error{ErrorCode::kBadData,
                 "no products: " + std::to_string(report.records) + " records were read and none kept",
                 sources.products, "is it the right file?"};
  }
  return report;
}

}  // namespace

Result<ProductRecord> parse_product(std::string_view json) {
  rapidjson::Document record;
  record.Parse<rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag |
               rapidjson::kParseNanAndInfFlag>(json.data(), json.size());
  if (record.HasParseError()) {
    return Error{ErrorCode::kBadData,
                 std::string("malformed JSON: ") + rapidjson::GetParseError_En(record.GetParseError()),
                 "byte " + std::to_string(record.GetErrorOffset()), ""};
  }
  if (!record.IsObject()) return Error{ErrorCode::kBadData, "a product must be an object", "", ""};
  ProductRecord product;
  Result<std::string> asin = string_field(record, "asin");
  if (!asin) return asin.error();
  product.asin = *asin;
  if (Status s = read_record(record, product); !s) return s.error();
  return product;
}

Result<std::vector<ProductRecord>> read_products(const ImportSources& sources, const Progress& progress) {
  std::vector<ProductRecord> products;
  Facts facts;
  const Result<ImportReport> report = read_all(
      sources, progress,
      [&](ProductRecord product) -> Status { return products.push_back(std::move(product)), Status(); },
      facts);
  if (!report) return report.error();
  return products;
}

Result<ImportReport> import_catalogue(const ImportSources& sources, const Progress& progress) {
  CatalogueWriter writer;
  if (Status s = writer.create(sources.out); !s) return s.error();
  Facts facts;
  Result<ImportReport> report = read_all(
      sources, progress, [&writer](const ProductRecord& product) { return writer.add(product); }, facts);
  if (!report) return report.error();
  facts["records"] = std::to_string(report->records);
  facts["instructions"] = std::to_string(report->instructions);
  facts["human_instructions"] = std::to_string(report->human);
  facts["tagged"] = std::to_string(report->tagged);
  const Result<Hash128> digest = writer.finish(std::move(facts));
  if (!digest) return digest.error();
  report->digest = *digest;
  return report;
}

}  // namespace lodestep::webshop
