// The shortest way to success that a recording knows for each task, in words: a hint for a prompt.
//   io.out << hints_text(recording);
// Threads: pure function. A hint helps on its own task only; it says so.
#pragma once

#include <string>

#include "harness/recording.h"

namespace lodestep::harness {

// One block a task, in the order of first appearance. The way is the shortest one through all transitions
// that the task's finished episodes observed (by exact key), so that it may be shorter than any episode.
// Tasks without an observed success say so.
std::string hints_text(const Recording& recording);

}  // namespace lodestep::harness
