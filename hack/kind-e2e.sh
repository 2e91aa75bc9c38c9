#!/usr/bin/env bash
# Tests the image, the chart and the doctor on a new kind cluster, which is deleted at the end (KEEP=1 keeps it).
# Needs a running container engine (Docker or Podman), kind, kubectl, helm, and Node.js with the packages that `npm ci` installs.
#   hack/kind-e2e.sh      NODE_IMAGE: the image of the nodes, by default kind's; MONGODB_IMAGE=mongo:8, which must contain mongod and
#                         mongosh and is loaded from the container engine if it is there
set -euo pipefail
cd "$(dirname "$0")/.."
cluster=${CLUSTER:-annex-e2e}
# The name has a host, so that all engines and kind's nodes resolve it alike: without a host, Podman assumes localhost/ and containerd docker.io/library/.
image=localhost/annex:e2e
mongodb_image=${MONGODB_IMAGE:-mongo:8}
missing=()
if [ "${BASH_VERSINFO[0]}" -lt 4 ]; then missing+=('bash 4 or newer'); fi

# Asks for a field that only the daemon knows: some versions of `docker info` succeed without a daemon.
asked_docker() { docker version --format '{{.Server.Version}}'; }
asked_podman() { podman info --format '{{.Version.Version}}'; }
engine='' without=''
for name in docker podman; do
  if ! command -v "$name" > /dev/null; then without+="; there is no $name"
  elif said=$("asked_$name" 2>&1); then engine=$name; break
  else without+="; $name: $(tail -n 1 <<< "$said")"; fi
done
[ -n "$engine" ] || missing+=("a container engine that runs$without")
if [ "$engine" = podman ]; then export KIND_EXPERIMENTAL_PROVIDER=podman; fi
command -v kind > /dev/null || missing+=('kind (https://kind.sigs.k8s.io)')
[ -d node_modules/yaml ] && command -v node > /dev/null || missing+=("Node.js, and what 'npm ci' installs")
kubectl=$(hack/tools/kubectl.sh 2> /dev/null) || missing+=('kubectl, or Go to build it')
helm=$(hack/tools/helm.sh 2> /dev/null) || missing+=('helm, or Go to build it')
if [ ${#missing[@]} -gt 0 ]; then
  echo 'kind-e2e: nothing was tried. Missing here:' >&2
  printf '  - %s\n' "${missing[@]}" >&2
  exit 3
fi

scratch=$(mktemp -d)
export KUBECONFIG=$scratch/kubeconfig
finish() {
  status=$?
  if [ $status -ne 0 ] && [ -s "$KUBECONFIG" ]; then
    "$kubectl" -n annex-system get pods || true
    "$kubectl" -n annex-system logs --selector app.kubernetes.io/name=annex --tail 50 || true
    "$kubectl" get apiservices || true
  fi
  if [ "${KEEP:-}" != 1 ]; then kind delete cluster --name "$cluster" || true; fi
  rm -rf "$scratch"
  exit $status
}
trap finish EXIT

step() { echo "== $*"; }
step image
"$engine" build -t "$image" .
step cluster
kind create cluster --name "$cluster" --kubeconfig "$KUBECONFIG" --wait 120s ${NODE_IMAGE:+--image "$NODE_IMAGE"}
load() {
  "$engine" save "$1" -o "$scratch/image.tar"
  kind load image-archive "$scratch/image.tar" --name "$cluster"
  rm "$scratch/image.tar"
}
load "$image"
if "$engine" image inspect "$mongodb_image" > /dev/null 2>&1; then load "$mongodb_image"; fi

step MongoDB
"$kubectl" create namespace annex-system
"$kubectl" -n annex-system apply -f - << YAML
apiVersion: v1
kind: Service
metadata: {name: mongodb}
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector: {app: mongodb}
  ports: [{port: 27017}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: mongodb}
spec:
  serviceName: mongodb
  selector: {matchLabels: {app: mongodb}}
  template:
    metadata: {labels: {app: mongodb}}
    spec:
      containers:
        - name: mongod
          image: $mongodb_image
          args: [--replSet, rs0, --bind_ip_all, --wiredTigerCacheSizeGB, '0.25']
          ports: [{containerPort: 27017}]
YAML
"$kubectl" -n annex-system rollout status statefulset/mongodb --timeout 180s
address=mongodb-0.mongodb.annex-system.svc:27017
for attempt in $(seq 30); do
  "$kubectl" -n annex-system exec mongodb-0 -- mongosh --quiet --eval \
    "try { rs.status() } catch (e) { rs.initiate({_id: 'rs0', members: [{_id: 0, host: '$address'}]}) }; quit(db.hello().isWritablePrimary ? 0 : 1)" && break
  [ "$attempt" -lt 30 ]
  sleep 2
done
"$kubectl" -n annex-system create secret generic annex-mongodb --from-literal "uri=mongodb://$address/?replicaSet=rs0"

step helm
"$helm" install annex charts/annex --namespace annex-system --set image.repository="${image%:*}" --set image.tag="${image#*:}" \
  --set resources.requests.cpu=50m --wait --timeout 180s
"$kubectl" wait apiservice/v1.kubeannex.io --for create --timeout 60s
"$kubectl" wait apiservice/v1.kubeannex.io --for condition=Available --timeout 60s

step doctor
mapfile -t flags < <("$kubectl" -n annex-system get deployment annex -o jsonpath='{range .spec.template.spec.containers[0].args[1:]}{@}{"\n"}{end}')
"$kubectl" -n annex-system exec deployment/annex -- node /annex/dist/main.js doctor "${flags[@]}"

step objects
node hack/resource-definition.mjs examples/crds/*.yaml | "$kubectl" create -f -
for attempt in $(seq 30); do
  "$kubectl" get policyreports,configauditreports,exposedsecretreports,infraassessmentreports -A > /dev/null 2>&1 && break
  [ "$attempt" -lt 30 ]
  sleep 1
done
"$kubectl" create namespace reports
"$kubectl" apply -n reports -f examples/objects
[ "$("$kubectl" get policyreports -n reports -o name | wc -l)" -gt 0 ]
"$kubectl" -n annex-system rollout restart deployment/annex
"$kubectl" -n annex-system rollout status deployment/annex --timeout 180s
[ "$("$kubectl" get policyreports -n reports -o name | wc -l)" -gt 0 ]
"$kubectl" delete namespace reports --timeout 60s

step uninstall
"$helm" uninstall annex --namespace annex-system --wait
for attempt in $(seq 60); do
  [ -z "$("$kubectl" get apiservices -l app.kubernetes.io/managed-by=annex -o name)" ] && break
  [ "$attempt" -lt 60 ]
  sleep 1
done
echo 'kind-e2e: passed'
