#!/usr/bin/env bash
# All checks and tests, each though one before it failed. The checks of the sources run beside jest, which leaves a core free; where the
# tools are still to be built, they run beside that, and jest waits for the tools, which its tests skip without.
# The last line is plain: `N passed, N failed`, the sum over the checks, the jest tests and the steps of the oracle. Fails unless nothing failed.
set -uo pipefail
cd "$(dirname "$0")/.."
results=.cache/results
rm -rf "$results"
mkdir -p "$results"
passed=0
failed=0
summed=no

finish() {
  if [ $summed = no ]; then failed=$((failed + 1)); fi
  echo "$passed passed, $failed failed"
}
trap finish EXIT

# One check that passes or fails as a whole: notes which in results/checks.
check() {
  local name=$1 start=$SECONDS verdict=passed
  shift
  echo "== $name"
  "$@" || verdict=FAILED
  echo "$verdict" >> "$results/checks"
  echo "== $name $verdict: $((SECONDS - start)) s"
}

# The checks that need the sources alone.
check_sources() {
  check types make --no-print-directory typecheck
  check lint make --no-print-directory lint
  check 'unit tests on Node 24' run_unit_on 24
}

# What is missing of the reference control plane; nothing where there is no Go to build it.
missing_tools() {
  command -v go > /dev/null || return 0
  local name
  for name in kubectl h2spec kms-plugin helm etcd kube-apiserver kube-controller-manager; do
    [ -x "${ANNEX_TOOLS_DIR:-.cache/tools}/$name" ] || echo "$name"
  done
}

# Adds up what a program counted itself: a file with the two numbers, or else one failure.
count() {
  local good bad
  if read -r good bad < "$1" 2> /dev/null && [ -n "$bad" ]; then
    passed=$((passed + good))
    failed=$((failed + bad))
  else
    failed=$((failed + 1))
  fi
}

# The same tests beside the sources on the Node that the image has.
run_unit_on() {
  local node
  node=$(hack/node.sh "$1") || return 1
  "$node" node_modules/.bin/jest src packages 2> "$results/unit-$1.log" || { tail -60 "$results/unit-$1.log"; return 1; }
}

run_jest() {
  node_modules/.bin/jest --reporters=./hack/jest-progress.mjs --reporters=summary --json --outputFile="$results/jest.json" "$@"
  local status=$?
  node hack/jest-counts.mjs "$results/jest.json" $status > "$results/jest.counts"
}

run_oracle() {
  hack/oracle.sh embedded 2>&1 | tee "$results/oracle.log"
  local status=${PIPESTATUS[0]}
  sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$results/oracle.log" | tail -1 > "$results/oracle.counts"
  # A replay that broke off is a failure beside what it counted.
  if [ "$status" -ne 0 ] && grep -q ' 0$' "$results/oracle.counts"; then echo '0 1' > "$results/oracle.counts"; fi
}

run_go() {
  hack/conformance-go.sh 2>&1 | tee "$results/go.log"
  sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$results/go.log" | tail -1 > "$results/go.counts"
}

# All of this is to end within an hour. On a slow machine that has yet to build the control plane there is no time left for it.
run_e2e() {
  local latest=2700
  [ -x "${ANNEX_TOOLS_DIR:-.cache/tools}/kube-controller-manager" ] || latest=1800
  if [ $SECONDS -gt $latest ]; then
    echo "skipped: the tests end to end: $((SECONDS / 60)) minutes have passed already; run make e2e"
    echo '0 0' > "$results/e2e.counts"
    return
  fi
  hack/e2e.sh --json --outputFile="$results/e2e.json"
  local status=$?
  node hack/jest-counts.mjs "$results/e2e.json" $status > "$results/e2e.counts"
}

check build make --no-print-directory build
mapfile -t missing < <(missing_tools)
if [ ${#missing[@]} -gt 0 ]; then
  echo "== building ${missing[*]} meanwhile"
  hack/tools/build.sh "${missing[@]}" > "$results/tools.txt" 2>&1 &
  tools=$!
  check_sources
  wait "$tools" || tail -5 "$results/tools.txt"
  echo '== jest'
  run_jest
else
  check_sources > "$results/sources.txt" 2>&1 &
  sources=$!
  echo '== jest, and the checks of the sources beside it'
  run_jest
  wait "$sources"
  cat "$results/sources.txt"
fi
passed=$((passed + $(grep -c '^passed$' "$results/checks")))
# Each of the four has a verdict, or it counts as failed.
failed=$((failed + 4 - $(grep -c '^passed$' "$results/checks")))
count "$results/jest.counts"
echo '== oracle'
run_oracle
count "$results/oracle.counts"
echo '== the clients of Go'
run_go
count "$results/go.counts"
echo '== end to end'
run_e2e
count "$results/e2e.counts"
summed=yes
node hack/skipped.mjs "$results/jest.json" "$results/e2e.json"
grep -h '^skipped: ' "$results"/*.log 2> /dev/null
[ $failed -eq 0 ]
