#!/usr/bin/env bash
# Runs tests under sanitizers: sanitize.sh [asan|tsan] [TIMES] [PROGRAM...]
#   asan  the laws and every fuzz test, with AddressSanitizer and UndefinedBehaviorSanitizer
#   tsan  the tests that share data between threads, with ThreadSanitizer
# TIMES multiplies the rounds of the fuzz tests. Test programs named after it replace the preset's own (webshop, server and
# harness are built on the whole program, so they take longer).
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-asan}
export LODESTEP_FUZZ=${2:-1}
shift $(($# < 2 ? $# : 2))
case $preset in
  asan) programs=(sokoban alfworld canonicalizer graph laws) ;;
  tsan) programs=(harness server graph alfworld) ;;
  *) echo "sanitize.sh: no such preset: $preset (asan, tsan)" >&2 && exit 2 ;;
esac
[ $# -eq 0 ] || programs=("$@")

scripts/build.sh "$preset" "${programs[@]/#/test_}"
export ASAN_OPTIONS=detect_stack_use_after_return=1 UBSAN_OPTIONS=print_stacktrace=1
if [ "$preset" = asan ]; then  # looking for leaks needs ptrace, which some containers refuse
  probe=build-asan/leak_probe
  echo 'int main() {}' | c++ -fsanitize=address -x c++ - -o "$probe"
  "$probe" 2>/dev/null || { echo "asan: no ptrace here, so leaks are not looked for" && ASAN_OPTIONS+=:detect_leaks=0; }
fi
for program in "${programs[@]}"; do
  only=("[fuzz]")
  [ "$preset" = asan ] && [ "$program" != laws ] || only=()
  echo "$preset: $program ${only[*]}"
  "build-$preset/bin/test_$program" "${only[@]}"
done
