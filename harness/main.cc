// The program `lodestep`.
#include <iostream>

#include "harness/command.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::cin.tie(nullptr);
  lodestep::harness::Io io{std::cin, std::cout, std::cerr};
  return lodestep::harness::run_program({argv + 1, argv + argc}, io);
}
