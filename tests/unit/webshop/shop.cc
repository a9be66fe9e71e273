#include "tests/unit/webshop/shop.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "envs/webshop/import.h"
#include "tests/unit/webshop/golden.h"

namespace lodestep::webshop {

namespace {

ImportSources golden_sources(const std::string& out) {
  const std::string folder = test::shared_path("data/webshop/synth_1000/");
  return {folder + "items_shuffle.json.zst",
          folder + "items_ins.json.zst",
          folder + "items_human_ins.json.zst",
          test::shared_path("golden/webshop/nouns.jsonl.zst"),
          0,
          out};
}

// Removed when the tests end.
struct TemporaryFile {
  std::string path =
      (std::filesystem::temp_directory_path() / ("webshop-" + std::to_string(::getpid()) + ".db")).string();
  ~TemporaryFile() { std::remove(path.c_str()); }
};

}  // namespace

std::string golden_file() {
  static const TemporaryFile file;
  static const bool there = [] {
    if (!std::filesystem::exists(test::shared_path("data/webshop/synth_1000"))) return false;
    const Result<ImportReport> report = import_catalogue(golden_sources(file.path), {});
    LODESTEP_CHECK(report.ok(), report.error());
    return true;
  }();
  if (!there) test::skip("data/webshop/synth_1000");
  return there ? file.path : "";
}

std::shared_ptr<const Catalogue> golden_shop() {
  static const std::shared_ptr<const Catalogue> shop = []() -> std::shared_ptr<const Catalogue> {
    const std::string folder = test::shared_path("data/webshop/synth_1000/");
    if (!std::filesystem::exists(folder)) return nullptr;
    Result<std::vector<ProductRecord>> products = read_products(
        {folder + "items_shuffle.json.zst", folder + "items_ins.json.zst",
         folder + "items_human_ins.json.zst", test::shared_path("golden/webshop/nouns.jsonl.zst"), 0, ""},
        {});
    LODESTEP_CHECK(products.ok(), products.error());
    return make_catalogue(*products, hash128("golden"));
  }();
  if (!shop) test::skip("data/webshop/synth_1000");
  return shop;
}

GoalSettings golden_settings(const rapidjson::Value& config) {
  GoalSettings settings;
  const std::string variant = text_of(config["variant"]);
  settings.variant = variant == "verl" ? Variant::kVerl : Variant::kUpstream;
  settings.seed = config["seed"].GetInt64();
  settings.human = config["human_goals"].GetBool();
  settings.records = config["num_products"].IsNull() ? 0 : config["num_products"].GetUint64();
  return settings;
}

}  // namespace lodestep::webshop
