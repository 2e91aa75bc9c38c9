#!/usr/bin/env bash
# Runs all checks and tests, even after failures, in three lanes: jest, the tests on a cluster (which mostly wait), and the rest.
# The jest suites are divided into parts; a lane with nothing else to do takes the next part. If tools have to be built first, the source
# checks run meanwhile, and the lanes wait for the tools, because tests without them are skipped.
# The last line is `N passed, N failed`, the sum over the checks, the jest tests and the steps of the oracle. Exits with 0 only if nothing failed.
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

# Runs one check and records its result in results/checks and, if it failed, the end of its output in results/failed-checks.txt.
check() {
  local name=$1 start=$SECONDS verdict=passed
  shift
  echo "== $name"
  if ! "$@" 2>&1 | tee "$results/check.txt"; then
    verdict=FAILED
    { echo "failed: $name"; tail -25 "$results/check.txt"; } >> "$results/failed-checks.txt"
  fi
  echo "$verdict" >> "$results/checks"
  echo "== $name $verdict: $((SECONDS - start)) s"
}

# The checks that need only the sources.
check_sources() {
  check types make --no-print-directory typecheck
  check lint make --no-print-directory lint
  check 'unit tests on Node 24' run_unit_on 24
}

# The tools of the reference control plane that are not built yet; empty without Go to build them.
missing_tools() {
  command -v go > /dev/null || return 0
  local name
  for name in kubectl h2spec kms-plugin cel-evaluator helm etcd kube-apiserver kube-controller-manager; do
    [ -x "${ANNEX_TOOLS_DIR:-.cache/tools}/$name" ] || echo "$name"
  done
}

# Adds the totals of a program that counts its tests itself: a file with both numbers. Without the file it counts one failure.
count() {
  local good bad
  if read -r good bad < "$1" 2> /dev/null && [ -n "$bad" ]; then
    passed=$((passed + good))
    failed=$((failed + bad))
  else
    failed=$((failed + 1))
  fi
}

# Runs the unit tests, the tests of the embedded store's native library and the test of a full heap on the Node that the image contains.
run_unit_on() {
  local node
  node=$(hack/node.sh "$1") || return 1
  "$node" node_modules/.bin/jest src packages test/storage/damage test/storage/crash test/storage/cold-file test/integration/memory 2> "$results/unit-$1.log" || { tail -60 "$results/unit-$1.log"; return 1; }
}

# A jest worker that exceeds this size is replaced before its next suite. What suites leave behind in a process slows down the suites that
# follow: after 366 suites in one process the model of the watch cache took 137 s, after 265 with this limit 32 s, and 10 s in a part of its own.
RESTARTED_ABOVE=512MB

# Runs jest and stores its results under a name.
run_jest() {
  local name=$1 status=0
  shift
  node_modules/.bin/jest --workerIdleMemoryLimit="$RESTARTED_ABOVE" --reporters=./hack/jest-progress.mjs --reporters=summary --json --outputFile="$results/$name.json" "$@" || status=$?
  node hack/jest-counts.mjs "$results/$name.json" $status > "$results/$name.counts"
}

# The campaign against two servers mostly waits, so it runs in another lane than the first.
CAMPAIGN=test/faults/faults.test.ts

# The parts of the jest suites, longest first: the shorter the last parts, the closer together the lanes end.
parts=(integration storage others models units)
declare -A paths=([integration]=./test/integration/ [storage]=./test/storage/ [others]=./test/ [units]='./src/ ./packages/'
  [models]='./test/model/ ./test/fuzz/ ./test/convert/ ./test/cel/')

# Runs the parts that no lane has taken yet, one after another, with the given number of suites at a time.
run_parts() {
  local workers=$1 part path skipped
  for part in "${parts[@]}"; do
    mkdir "$results/$part.taken" 2> /dev/null || continue
    skipped=(--testPathIgnorePatterns /node_modules/ --testPathIgnorePatterns test/e2e/ --testPathIgnorePatterns "$CAMPAIGN")
    if [ "$part" = others ]; then
      for path in ${paths[integration]} ${paths[storage]} ${paths[models]}; do skipped+=(--testPathIgnorePatterns "${path#./}"); done
    fi
    # shellcheck disable=SC2086
    lap "jest: $part" run_jest "$part" --maxWorkers="$workers" "${skipped[@]}" --testPathPatterns ${paths[$part]}
  done
}

run_suites() {
  # Leaves one core to the other lanes: more concurrent suites than cores starve each other's servers.
  run_parts $((${ANNEX_JEST_WORKERS:-$(nproc) > 2 ? $(nproc) - 1 : 1}))
}

run_oracle() {
  hack/oracle.sh embedded 2>&1 | tee "$results/oracle.log"
  local status=${PIPESTATUS[0]}
  sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$results/oracle.log" | tail -1 > "$results/oracle.counts"
  # A replay that was cut off counts as one more failure.
  if [ "$status" -ne 0 ] && grep -q ' 0$' "$results/oracle.counts"; then echo '0 1' > "$results/oracle.counts"; fi
}

run_go() {
  hack/conformance-go.sh 2>&1 | tee "$results/go.log"
  sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p' "$results/go.log" | tail -1 > "$results/go.counts"
}

# Runs tests on a cluster and stores their results under a name, unless the given number of seconds has passed: everything must end within an hour.
on_cluster() {
  local name=$1 latest=$2 what=$3 target=$4 status=0
  shift 4
  if [ $SECONDS -gt "$latest" ]; then
    echo "skipped: $what: $((SECONDS / 60)) minutes have passed already; run make $target"
    echo '0 0' > "$results/$name.counts"
    return
  fi
  hack/e2e.sh "$@" --json --outputFile="$results/$name.json" || status=$?
  node hack/jest-counts.mjs "$results/$name.json" $status > "$results/$name.counts"
}

run_e2e() {
  local latest=2700
  # A slow machine that must build the control plane first has no time left for these.
  [ -x "${ANNEX_TOOLS_DIR:-.cache/tools}/kube-controller-manager" ] || latest=1800
  on_cluster e2e $latest 'the tests end to end' e2e
}

# Runs adoptions for ten minutes while random parts of the cluster fail. What a failed round leaves behind would keep jest from exiting.
run_adoptions() {
  ANNEX_ADOPTION_ROUNDS=8 E2E_CONFIG=test/e2e/switch/campaign/jest.config.mjs \
    on_cluster adoptions 2700 'the campaign of adoptions' adoption-campaign --forceExit
}

# Runs a part that counts its own tests, and prints how long it took.
lap() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  "$@"
  echo "== $name: $((SECONDS - start)) s"
}

run_clusters() {
  lap 'end to end' run_e2e
  lap 'the campaign of adoptions' run_adoptions
  run_parts 1
}

run_rest() {
  [ ${#missing[@]} -gt 0 ] || check_sources
  lap oracle run_oracle
  lap 'the clients of Go' run_go
  lap 'the campaign of faults' run_jest faults "$CAMPAIGN"
  run_parts 1
}

check build make --no-print-directory build
mapfile -t missing < <(missing_tools)
if [ ${#missing[@]} -gt 0 ]; then
  echo "== building ${missing[*]} meanwhile"
  hack/tools/build.sh "${missing[@]}" > "$results/tools.txt" 2>&1 &
  tools=$!
  check_sources
  wait "$tools" || tail -5 "$results/tools.txt"
fi
# The other lanes. Their headings and suites are printed immediately, the rest of their output when all lanes have ended.
lanes=(rest clusters)
for lane in "${lanes[@]}"; do
  { "run_$lane" 2>&1 | tee "$results/$lane.txt" | grep --line-buffered -E '^== |^ *[0-9]+:[0-9]{2} (ok|FAIL) '; } &
done
lap jest run_suites
wait
for lane in "${lanes[@]}"; do grep -vE '^ *[0-9]+:[0-9]{2} ok ' "$results/$lane.txt"; done
passed=$((passed + $(grep -c '^passed$' "$results/checks")))
# A check without a result counts as failed.
failed=$((failed + 4 - $(grep -c '^passed$' "$results/checks")))
for part in "${parts[@]}" oracle go faults e2e adoptions; do count "$results/$part.counts"; done
summed=yes
reports=("${parts[@]}" faults e2e adoptions)
reports=("${reports[@]/#/$results/}")
grep -h '^skipped: ' "$results"/*.log 2> /dev/null
# Repeats the failures at the end.
node hack/outcomes.mjs "${reports[@]/%/.json}"
cat "$results/failed-checks.txt" 2> /dev/null
# The oracle prints steps that differ indented below their scenario.
grep -B1 '^    ' "$results/oracle.log" | head -20
grep -A8 -- '--- FAIL' "$results/go.log" | head -20
[ $failed -eq 0 ]
