#!/usr/bin/env bash
# Replays the recorded scenarios of kube-apiserver against a fresh server.
#   hack/oracle.sh [embedded|mongodb] [arguments of oracle.py check, e.g. -v 3 --only '^cel']
# For mongodb it starts a mongod of its own, unless ORACLE_MONGODB_URI names a replica set.
# ORACLE_CONTROLLERS turns controllers on, for scenarios that need them: ORACLE_CONTROLLERS=NAME hack/oracle.sh embedded --with NAME.
# ANNEX_MAIN names another build than dist/main.js, ORACLE_PORT another port, ORACLE_FLAGS more flags of the server:
#   ORACLE_FLAGS=--enable-admission-plugins=NodeRestriction hack/oracle.sh embedded --with node-restriction --only '^admit-nodes'
# Needs Python 3.11 with PyYAML; prints one line a scenario and `N passed, M failed`.
set -euo pipefail
cd "$(dirname "$0")/.."
backend=${1:-embedded}
if [ "$backend" = mongodb ] && [ -z "${ORACLE_MONGODB_URI:-}" ]; then
  exec hack/with-mongod.sh bash -c 'ORACLE_MONGODB_URI=$MONGODB_URI exec hack/oracle.sh "$@"' oracle "$@"
fi
shift || true
scratch=$(mktemp -d)
port=${ORACLE_PORT:-6460}
token=oracle-$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')
printf '%s,admin,admin,system:masters\n' "$token" > "$scratch/tokens.csv"
[ -n "${ANNEX_MAIN:-}" ] || node hack/build.mjs --if-stale
flags=(--data-dir "$scratch/data" --secure-port "$port" --bind-address 127.0.0.1 --token-auth-file "$scratch/tokens.csv"
  --controllers="${ORACLE_CONTROLLERS:-}" --feature-gates=WatchList=true --storage-backend "$backend")
if [ "$backend" = mongodb ]; then
  flags+=(--mongodb-uri "$ORACLE_MONGODB_URI" --mongodb-database "oracle$$")
fi
read -ra more <<< "${ORACLE_FLAGS:-}"
node "${ANNEX_MAIN:-dist/main.js}" serve "${flags[@]}" ${more[@]+"${more[@]}"} > "$scratch/server.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; rm -rf "$scratch"' EXIT
until curl -sfk "https://127.0.0.1:$port/readyz" > /dev/null; do
  kill -0 "$server" 2>/dev/null && [ $SECONDS -lt 240 ] || { cat "$scratch/server.log" >&2; exit 1; }
  sleep 0.2
done
python3 -c 'import yaml' 2> /dev/null || {
  python3 -m venv .cache/python && .cache/python/bin/pip -q install PyYAML==6.0.2
  PATH="$PWD/.cache/python/bin:$PATH"
}
status=0
ORACLE_SERVER=https://127.0.0.1:$port ORACLE_TOKEN=$token ORACLE_CA=$scratch/data/ca.crt \
  python3 test/oracle/oracle.py check --golden test/oracle/goldens "$@" test/oracle/scenarios/*.yaml || status=$?
if grep -q '"level":"error"' "$scratch/server.log"; then
  echo "errors in the server's log:" >&2
  grep '"level":"error"' "$scratch/server.log" | head -20 >&2
fi
exit $status
