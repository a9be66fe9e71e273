// How long fuzz tests run. Tests that use it carry the tag [fuzz]; scripts/sanitize.sh runs them alone.
//
//   for (int round = 0; round < test::fuzz_rounds(1000); ++round) ...
#pragma once

namespace lodestep::test {

// Rounds of a fuzz test: `suite` of them in the test suite, LODESTEP_FUZZ times as many where that
// variable holds a whole number above 0.
int fuzz_rounds(int suite);

}  // namespace lodestep::test
