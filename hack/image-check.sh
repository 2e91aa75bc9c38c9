#!/usr/bin/env bash
# Builds the image and runs it like the chart's pods: as a user other than root, without capabilities, on a read-only root file system.
# Checks that a client can use it, that it stops in time while a watch is open, and that its objects survive a restart.
#   hack/image-check.sh [IMAGE.tar]      checks an OCI archive from hack/release.sh instead of building an image
# ENGINE=docker|podman, optionally with flags; BUILD_FLAGS and RUN_FLAGS: additional flags of `build` and `run`; PORT=6475
set -euo pipefail
cd "$(dirname "$0")/.."
image=localhost/annex:check
port=${PORT:-6475}
if [ -z "${ENGINE:-}" ]; then
  if docker version --format '{{.Server.Version}}' > /dev/null 2>&1; then ENGINE=docker
  elif podman info > /dev/null 2>&1; then ENGINE=podman
  else echo 'image-check: nothing was tried: neither docker nor podman runs here' >&2; exit 3; fi
fi
kubectl=$(hack/tools/kubectl.sh)
# Flags are split into words.
# shellcheck disable=SC2206
engine=($ENGINE) build=(${BUILD_FLAGS:-}) run=(${RUN_FLAGS:-})
scratch=$(mktemp -d)
name=annex-check-$$
finish() {
  status=$?
  [ $status -eq 0 ] || "${engine[@]}" logs "$name" 2>&1 | tail -n 50 >&2 || true
  "${engine[@]}" rm -f "$name" > /dev/null 2>&1 || true
  "${engine[@]}" volume rm "$name" > /dev/null 2>&1 || true
  rm -rf "$scratch"
}
trap finish EXIT
ready() {
  for _ in $(seq 300); do
    if curl -sfk "https://127.0.0.1:$port/readyz" > /dev/null; then return; fi
    sleep 0.2
  done
  echo 'image-check: it does not get ready' >&2
  return 1
}
# The image of a release has no shell.
inside() { "${engine[@]}" exec "$name" node -e "const { readFileSync, writeFileSync } = require('node:fs'); $1"; }

if [ -n "${1:-}" ]; then
  echo '== load'
  loaded=$("${engine[@]}" load -i "$1")
  image=${loaded##*: }
else
  echo '== build'
  "${engine[@]}" build "${build[@]}" -t "$image" .
fi
echo "== run ($("${engine[@]}" image inspect --format '{{.Size}}' "$image") bytes)"
token=check-$(head -c 12 /dev/urandom | od -An -tx1 | tr -d ' \n')
printf '%s,admin,admin,system:masters\n' "$token" > "$scratch/tokens.csv"
chmod 755 "$scratch"
chmod 644 "$scratch/tokens.csv"
"${engine[@]}" volume create "$name" > /dev/null
"${engine[@]}" run -d --name "$name" --network host --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges "${run[@]}" \
  -v "$name:/var/lib/annex" -v "$scratch/tokens.csv:/etc/annex/tokens.csv:ro" "$image" \
  serve --data-dir=/var/lib/annex --bind-address=127.0.0.1 --secure-port="$port" --token-auth-file=/etc/annex/tokens.csv > /dev/null
ready
inside 'const status = readFileSync("/proc/1/status", "utf8");
  if (process.getuid() !== 65532) throw new Error("another user");
  if (!/^CapEff:\t0+$/m.test(status) || !/^NoNewPrivs:\t1$/m.test(status)) throw new Error(status)'
if inside 'writeFileSync("/annex/x", "")' 2> /dev/null; then echo 'image-check: its root file system can be written to' >&2; exit 1; fi
inside 'writeFileSync("/tmp/x", ""); process.stdout.write(readFileSync("/var/lib/annex/ca.crt"))' > "$scratch/ca.crt"
"${engine[@]}" exec "$name" annex doctor --data-dir=/var/lib/annex > "$scratch/doctor" || { cat "$scratch/doctor"; exit 1; }
k=("$kubectl" --kubeconfig /dev/null --server "https://127.0.0.1:$port" --certificate-authority "$scratch/ca.crt" --token "$token")
echo '== a client'
"${k[@]}" apply -f examples/crds > /dev/null
"${k[@]}" wait crd --all --for condition=Established --timeout 60s > /dev/null
"${k[@]}" apply -f examples/objects > /dev/null
before=$("${k[@]}" get policyreports -A -o name | wc -l)
[ "$before" -gt 0 ]
echo '== stop, with a watch open'
"${k[@]}" get policyreports -A --watch-only > /dev/null 2>&1 &
watching=$!
begun=$(date +%s)
"${engine[@]}" stop -t 30 "$name" > /dev/null
[ $(($(date +%s) - begun)) -lt 30 ]
[ "$("${engine[@]}" inspect --format '{{.State.ExitCode}}' "$name")" = 0 ]
wait "$watching" || true
echo '== start again'
"${engine[@]}" start "$name" > /dev/null
ready
[ "$("${k[@]}" get policyreports -A -o name | wc -l)" = "$before" ]
echo 'image-check: passed'
