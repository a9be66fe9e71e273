// The gates: an estimator that knows more must come nearer to the truth, in an order that was measured
// before.
#include <catch2/catch.hpp>

#include <cmath>
#include <map>

#include "harness/fidelity.h"
#include "harness/internal/json.h"
#include "program.h"

namespace lodestep::harness::test {
namespace {

std::map<std::string, double> cosines(const std::string& json) {
  const Result<rapidjson::Document> document = parse_json(json, "");
  REQUIRE(document.ok());
  std::map<std::string, double> out;
  for (const auto& row : (*document)["tables"][0]["estimators"].GetArray()) {
    out[row["name"].GetString()] = row["cosine"].GetDouble();
  }
  return out;
}

TEST_CASE("fidelity on Sokoban: grpo, gigpo, graphgpo, evih, in this order") {
  const TemporaryFolder folder;
  const Ran played = run({"rollout", "sokoban", "--groups", "32", "--group-size", "8", "--max-steps", "15",
                          "--policy", "mixed:0.6", "--estimator", "grpo", "--out", folder / "run.db"});
  INFO(played.err);
  REQUIRE(played.status == 0);
  const Ran ran = run({"compare", folder / "run.db", "--fidelity", "--json"});
  INFO(ran.err << ran.out);
  REQUIRE(ran.status == 0);
  const auto cosine = cosines(ran.out);
  CHECK(cosine.at("grpo") > 0.1);
  CHECK(cosine.at("grpo") < cosine.at("gigpo (mean)"));
  CHECK(cosine.at("gigpo (mean)") < cosine.at("graphgpo"));
  CHECK(cosine.at("graphgpo") < cosine.at("evih"));
  CHECK(cosine.at("evih") > 0.7);
  CHECK(cosine.at("evihb") > cosine.at("graphgpo"));
}

TEST_CASE("fidelity: unknown policies and other environments' recordings are refused") {
  const TemporaryFolder folder;
  REQUIRE(
      run({"rollout", "dummy", "--groups", "2", "--group-size", "2", "--out", folder / "run.db"}).status ==
      0);
  CHECK(run({"compare", folder / "run.db"}).status == 0);
  CHECK(run({"compare", folder / "run.db", "--fidelity"}).status == 0);
  CHECK(run({"compare", folder / "run.db", "--fidelity", "--policy", "script:x"}).status == 2);
  CHECK(run({"compare", folder / "run.db", "--group-sizes", "2"}).status == 2);
  CHECK(run({"compare", folder / "run.db", "--fidelity", "--group-sizes", "9"}).status == 2);
  CHECK(run({"compare", folder / "missing.db"}).status == 2);
}

TEST_CASE("fidelity: cosine, signs and shares of what is there") {
  const Fidelity f = fidelity_of({1, 0, -1, 2}, {2, 1, 1, 4});
  CHECK(f.cosine == Approx(9 / std::sqrt(6.0 * 22.0)));
  CHECK(f.sign_agreement == Approx(2.0 / 3));
  CHECK(f.non_zero == Approx(0.75));
  CHECK(fidelity_of({0, 0}, {1, -1}).cosine == 0);
}

}  // namespace
}  // namespace lodestep::harness::test
