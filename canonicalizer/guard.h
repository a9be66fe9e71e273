// The guard against joining states that call for other actions: part of a key wherever it is on.
//   Guard guard = parse_guard(options);   // with guard_option() among its options
//   key = key_of(view, guard_hash(guard, view), hash128(view.text));
// Threads: pure functions.
#pragma once

#include <span>
#include <string>

#include "base/hash.h"
#include "base/options.h"
#include "canonicalizer/matcher.h"

namespace lodestep::canonicalizer {

enum class Guard { kActions, kNone };

OptionSpec guard_option();
Guard parse_guard(const Options& options);

// Of the set of actions, whatever their order.
Hash128 hash_of_actions(std::span<const std::string> actions);

// Differs between views whose admissible actions differ or are known for one of them only; the same
// for all views under kNone.
Hash128 guard_hash(Guard guard, const PageView& view);

// A key that holds group and guard, so that neither is ever joined.
Hash128 key_of(const PageView& view, const Hash128& guard, const Hash128& content);

// Notes on what the batch lacks or holds: views without actions while the guard is on, invalid UTF-8.
std::vector<std::string> notes_on(Guard guard, std::span<const PageView> batch);

}  // namespace lodestep::canonicalizer
