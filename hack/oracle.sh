#!/usr/bin/env bash
# Replays the recorded scenarios of kube-apiserver against a fresh server.
#   hack/oracle.sh [embedded|mongodb] [arguments of oracle.py check, e.g. -v 3 --only '^cel']
# For mongodb it starts a mongod, unless ORACLE_MONGODB_URI names a replica set.
# Without arguments it then replays the scenarios that need other flags (`needs: NAME`), each group against its own server.
# To replay one such group alone, enable controllers with ORACLE_CONTROLLERS and pass flags in ORACLE_FLAGS:
#   ORACLE_FLAGS=--enable-admission-plugins=NodeRestriction hack/oracle.sh embedded --with node-restriction --only '^admit-nodes'
# ANNEX_MAIN selects a build other than dist/main.js, ORACLE_PORT another port.
# Needs Python 3.11 with PyYAML. Prints one line per scenario and `N passed, M failed`.
set -euo pipefail
cd "$(dirname "$0")/.."
backend=${1:-embedded}
if [ "$backend" = mongodb ] && [ -z "${ORACLE_MONGODB_URI:-}" ]; then
  exec hack/with-mongod.sh bash -c 'ORACLE_MONGODB_URI=$MONGODB_URI exec hack/oracle.sh "$@"' oracle "$@"
fi
shift || true
scratch=$(mktemp -d)
port=${ORACLE_PORT:-6460}
server=
trap 'stop_server; rm -rf "$scratch"' EXIT
token=oracle-$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')
printf '%s,admin,admin,system:masters\n' "$token" > "$scratch/tokens.csv"
[ -n "${ANNEX_MAIN:-}" ] || node hack/build.mjs --if-stale
python3 -c 'import yaml' 2> /dev/null || {
  python3 -m venv .cache/python && .cache/python/bin/pip -q install PyYAML==6.0.2
  PATH="$PWD/.cache/python/bin:$PATH"
}

start_server() { # controllers, more flags
  local flags=(--secure-port "$port" --bind-address 127.0.0.1 --token-auth-file "$scratch/tokens.csv"
    --controllers="$1" --feature-gates=WatchList=true --storage-backend "$backend")
  shift
  runs=$((${runs:-0} + 1))
  data=$scratch/data$runs
  flags+=(--data-dir "$data")
  if [ "$backend" = mongodb ]; then flags+=(--mongodb-uri "$ORACLE_MONGODB_URI" --mongodb-database "oracle$$-$runs"); fi
  node "${ANNEX_MAIN:-dist/main.js}" serve "${flags[@]}" "$@" > "$scratch/server.log" 2>&1 &
  server=$!
  local end=$((SECONDS + 240))
  until curl -sfk "https://127.0.0.1:$port/readyz" > /dev/null; do
    kill -0 "$server" 2>/dev/null && [ $SECONDS -lt $end ] || { cat "$scratch/server.log" >&2; exit 1; }
    sleep 0.2
  done
}

stop_server() {
  [ -z "$server" ] || { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; } || true
  server=
}

check() { # arguments of oracle.py check
  local status=0
  ORACLE_SERVER=https://127.0.0.1:$port ORACLE_TOKEN=$token ORACLE_CA=$data/ca.crt \
    python3 test/oracle/oracle.py check --golden test/oracle/goldens "$@" test/oracle/scenarios/*.yaml || status=$?
  if grep -q '"level":"error"' "$scratch/server.log"; then
    echo "errors in the server's log:" >&2
    grep '"level":"error"' "$scratch/server.log" | head -20 >&2
  fi
  return $status
}

status=0
read -ra more <<< "${ORACLE_FLAGS:-}"
if [ $# -gt 0 ] || [ -n "${ORACLE_FLAGS:-}${ORACLE_CONTROLLERS:-}" ]; then
  start_server "${ORACLE_CONTROLLERS:-}" ${more[@]+"${more[@]}"}
  check "$@" || status=$?
  exit $status
fi

# First the scenarios without `needs`, then those with this one. The totals are added up.
replay() { # needs, controllers, more flags
  local needs=$1 only=.
  shift
  [ -z "$needs" ] || only="^($(grep -lx "needs: $needs" test/oracle/scenarios/*.yaml | xargs -n 1 basename -s .yaml | paste -sd '|'))\$"
  start_server "$@"
  check -v 3 --only "$only" ${needs:+--with "$needs"} > "$scratch/out" || status=$?
  stop_server
  grep -vE ' passed, ' "$scratch/out" || true
  grep -E '^[0-9]+ passed, ' "$scratch/out" >> "$scratch/sums" || true
}
replay '' ''
replay node-restriction '' --enable-admission-plugins=NodeRestriction
replay service-account '' --enable-admission-plugins=ServiceAccount
ORACLE_MANIFESTS=$(mktemp -d -p "$scratch")
export ORACLE_MANIFESTS
replay manifests '' --admission-control-config-file="$(test/oracle/manifests.sh "$ORACLE_MANIFESTS")"
replay sharded-list '' --feature-gates=ShardedListAndWatch=true,WatchList=true
replay validatingadmissionpolicy-status-controller validatingadmissionpolicy-status-controller
awk '{ passed += $1; failed += $3 } END { print passed " passed, " failed " failed" }' "$scratch/sums"
exit $status
