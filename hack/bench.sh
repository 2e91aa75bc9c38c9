#!/usr/bin/env bash
# Runs the load program against the built server and, if hack/tools/build.sh has built it, against kube-apiserver. Needs Go.
#   hack/bench.sh [REGEXP of scenarios]        BACKEND=embedded|mongodb (with a mongod of its own), ALONE=yes for Annex alone, ROUNDS=1, OBJECTS=10000, BENCH_FLAGS=(more of the load program), ANNEX_MAIN=dist/main.js, NODE=(path of the node that runs it), BENCH_PORT, KAS_PORT, ETCD_PORT, OUT=test/bench/results/[mongodb-]v<version>.md
set -euo pipefail
cd "$(dirname "$0")/.."
backend=${BACKEND:-embedded}
if [ "$backend" = mongodb ] && [ -z "${MONGODB_URI:-}" ]; then exec hack/with-mongod.sh hack/bench.sh "$@"; fi
only=${1:-.}
tools=$(realpath -m "${ANNEX_TOOLS_DIR:-.cache/tools}")
scratch=$(mktemp -d)
port=${BENCH_PORT:-6461}
kas_port=${KAS_PORT:-6544}
etcd_port=${ETCD_PORT:-23992}
version=$(node -p 'require("./package.json").version')
out=$(realpath -m "${OUT:-test/bench/results/$([ "$backend" = mongodb ] && echo mongodb-)v$version.md}")
command -v go > /dev/null || { echo 'bench: the load program needs Go' >&2; exit 1; }
mkdir -p .cache/bench "$(dirname "$out")"
(cd test/bench/annexbench && go build -o ../../../.cache/bench/annexbench .)
bench=$PWD/.cache/bench/annexbench
token=bench-$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')
printf '%s,admin,admin,system:masters\n' "$token" > "$scratch/tokens.csv"
store=()
pids=api=$scratch/annex.pid
if [ "$backend" = mongodb ]; then
  store=(--storage-backend mongodb --mongodb-uri "$MONGODB_URI")
  echo "$MONGOD_PID" > "$scratch/mongod.pid"
  pids+=,mongod=$scratch/mongod.pid
fi
cat > "$scratch/start" <<START
#!/usr/bin/env bash
"${NODE:-node}" "$(realpath -m "${ANNEX_MAIN:-dist/main.js}")" serve --data-dir "$scratch/data" --secure-port $port --bind-address 127.0.0.1 --token-auth-file "$scratch/tokens.csv" \
  --authorization-mode RBAC --feature-gates=WatchList=true --max-requests-inflight 3000 --max-mutating-requests-inflight 1000 ${store[*]@Q} >> "$scratch/annex.log" 2>&1 < /dev/null &
echo \$! > "$scratch/annex.pid"
START
cat > "$scratch/stop" <<STOP
#!/usr/bin/env bash
pid=\$(cat "$scratch/annex.pid")
kill "\$pid"
while kill -0 "\$pid" 2> /dev/null; do sleep 0.1; done
STOP
chmod +x "$scratch/start" "$scratch/stop"
cleanup() {
  kill "$(cat "$scratch/annex.pid")" 2> /dev/null || true
  if [ -x "$tools/kube-apiserver" ]; then KAS_BIN=$tools KAS_RUN=$scratch/kas KAS_PORT=$kas_port ETCD_PORT=$etcd_port ETCD_PEER_PORT=$((etcd_port + 10)) test/bench/annexbench/kas.sh down || true; fi
  rm -rf "$scratch"
}
trap cleanup EXIT
"$scratch/start"
for _ in $(seq 150); do
  curl -sfk "https://127.0.0.1:$port/readyz" > /dev/null && break
  sleep 0.2
done
annex=(url "https://127.0.0.1:$port" token "$token" ca "$scratch/data/ca.crt" pids "$pids" start "$scratch/start" stop "$scratch/stop")
# shellcheck disable=SC2206 # The value is split into words.
common=(-only "$only" -objects "${OBJECTS:-10000}" ${BENCH_FLAGS:-})
if [ -z "${ALONE:-}" ] && [ -x "$tools/kube-apiserver" ] && [ -x "$tools/etcd" ]; then
  export KAS_BIN=$tools KAS_RUN=$scratch/kas KAS_PORT=$kas_port ETCD_PORT=$etcd_port ETCD_PEER_PORT=$((etcd_port + 10))
  export KAS_FLAGS='--max-requests-inflight=3000 --max-mutating-requests-inflight=1000'
  test/bench/annexbench/kas.sh up
  kas=(url "https://127.0.0.1:$kas_port" token secrettoken ca "$scratch/kas/ca.crt" pids "api=$scratch/kas/kas.pid,etcd=$scratch/kas/etcd.pid"
    start "$PWD/test/bench/annexbench/kas.sh start-api" stop "$PWD/test/bench/annexbench/kas.sh stop-api")
  arguments=(-a.name annex -b.name kube-apiserver)
  for ((i = 0; i < ${#annex[@]}; i += 2)); do arguments+=("-a.${annex[i]}" "${annex[i + 1]}"); done
  for ((i = 0; i < ${#kas[@]}; i += 2)); do arguments+=("-b.${kas[i]}" "${kas[i + 1]}"); done
  "$bench" compare -rounds "${ROUNDS:-1}" "${common[@]}" "${arguments[@]}" -o "$scratch/both.json" | tee "$out"
else
  [ -n "${ALONE:-}" ] || echo "bench: $tools has no kube-apiserver and etcd (hack/tools/build.sh kube-apiserver etcd): Annex alone" >&2
  arguments=(-name annex)
  for ((i = 0; i < ${#annex[@]}; i += 2)); do arguments+=("-${annex[i]}" "${annex[i + 1]}"); done
  "$bench" run "${common[@]}" "${arguments[@]}"
fi
