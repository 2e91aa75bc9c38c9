#!/usr/bin/env bash
# Measures create, get, list and watch on versions of Node, or with and without the V8 flags that main.ts sets, and writes a table. Needs Go and a
# machine without other load.
#   hack/bench-node.sh               NODES='20 22 24 26', ROUNDS=3, SCENARIOS=regexp, BENCH_FLAGS=(of the load program), OUT=test/bench/results/node-v<version>.md
#   VARIANTS=flags hack/bench-node.sh      on the first of NODES (24), each flag left out once; OUT=test/bench/results/v8-flags-v<version>.md
# The rounds alternate: each round runs every variant once.
set -euo pipefail
cd "$(dirname "$0")/.."
variants=${VARIANTS:-nodes}
scenarios=${SCENARIOS:-'^(load_c16|rss_loaded|create_c1|create_c16|get_c16|list_all_consistent|list_selector_1pct|list_namespace_c16|watch_w100)$'}
flags=(heap-growing-percent no-allocation-site-pretenuring)
version=$(node -p 'require("./package.json").version')
case $variants in
  nodes) nodes=(${NODES:-20 22 24 26}); mains=(main); out=${OUT:-test/bench/results/node-v$version.md} ;;
  flags) nodes=("${NODES:-24}"); mains=(main "${flags[@]/#/main-without-}"); out=${OUT:-test/bench/results/v8-flags-v$version.md} ;;
  *) echo "bench-node: VARIANTS is nodes or flags, not $variants" >&2; exit 1 ;;
esac
node hack/build.mjs --if-stale
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"; rm -f dist/main-without-*.js' EXIT
if [ "$variants" = flags ]; then
  for flag in "${flags[@]}"; do
    # In the bundle, each call that sets a flag is one expression. Replacing it leaves the flag unset.
    sed -E "s/setFlagsFromString[0-9]*\(\"--$flag[^\"]*\"\)/void 0/" dist/main.js > "dist/main-without-$flag.js"
    ! cmp -s dist/main.js "dist/main-without-$flag.js" || { echo "bench-node: dist/main.js does not set --$flag" >&2; exit 1; }
  done
fi
for ((round = 1; round <= ${ROUNDS:-3}; round++)); do
  for major in "${nodes[@]}"; do
    for main in "${mains[@]}"; do
      NODE=$(hack/node.sh "$major") ANNEX_MAIN=dist/$main.js ALONE=yes hack/bench.sh "$scenarios" > "$scratch/$major.$main.$round.json"
    done
  done
done
node hack/bench-table.mjs "$scratch" > "$out"
cat "$out"
