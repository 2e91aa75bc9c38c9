#!/usr/bin/env bash
# Annex in pods, on a cluster that is made for it and removed at the end (KEEP=1 keeps it): installed by the commands of docs/install.md,
# `helm test`, upgraded, a node lost, removed. Without what the cluster needs, it says what is missing and ends with 3.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CLUSTER_DIR=${CLUSTER_DIR:-/tmp/annex-e2e-cluster} CLUSTER_PREFIX=${CLUSTER_PREFIX:-annexe}
cluster=hack/cluster/cluster.sh
scratch=$(mktemp -d)
made=''
finish() {
  status=$?
  if [ $status -ne 0 ] && [ -n "$made" ]; then
    $cluster kubectl -n annex-system get pods -o wide || true
    $cluster kubectl -n annex-system logs --selector app.kubernetes.io/name=annex --tail 20 || true
  fi
  if [ -n "$made" ] && [ "${KEEP:-}" != 1 ]; then $cluster down || true; fi
  rm -rf "$scratch"
  exit $status
}
trap finish EXIT
step() { echo "== $* ($SECONDS s)"; }
eventually() {
  local deadline=$((SECONDS + 240))
  until "$@" > /dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || { echo "not within 240 s: $*" >&2; return 1; }
    sleep 0.5
  done
}

step 'a cluster of two nodes'
$cluster check
made=yes
$cluster up
helm=$(hack/tools/helm.sh)
version=$(node -p 'require("./package.json").version')
export IMAGE=localhost/annex

step images
hack/cluster/image.sh annex "$IMAGE:$version" "$scratch/annex.tar"
hack/cluster/image.sh mongod localhost/mongod:test "$scratch/mongod.tar"
for image in annex mongod; do $cluster load "$scratch/$image.tar"; done

step MongoDB
$cluster kubectl create namespace database
$cluster kubectl -n database create -f - << 'YAML'
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Service
    metadata: {name: mongodb}
    spec: {selector: {app: mongodb}, ports: [{port: 27017}]}
  - apiVersion: v1
    kind: Pod
    metadata: {name: mongodb, labels: {app: mongodb}}
    spec:
      # The node that stays.
      nodeName: n1
      containers:
        - name: mongod
          image: localhost/mongod:test
          imagePullPolicy: Never
          args: [--replSet, rs0, --bind_ip_all, --wiredTigerCacheSizeGB, '0.25', --dbpath, /data]
YAML
$cluster kubectl -n database wait pod/mongodb --for condition=Ready --timeout 2m
at=$($cluster kubectl -n database get service mongodb -o jsonpath='{.spec.clusterIP}'):27017
# There is no DNS in this cluster.
export MONGODB_URI="mongodb://$at/?replicaSet=rs0"
initiate() {
  $cluster in cp node -e "
    const { MongoClient } = require('mongodb');
    const client = new MongoClient('mongodb://$at/?directConnection=true');
    client.db('admin').command({ replSetInitiate: { _id: 'rs0', members: [{ _id: 0, host: '$at' }] } })
      .catch((error) => { if (error.codeName !== 'AlreadyInitialized') throw error; })
      .then(() => client.close());"
}
eventually initiate

# The commands of the guide run as they stand there, in the network of the control plane.
mkdir "$scratch/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(realpath "$helm")" > "$scratch/bin/helm"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$(realpath "$($cluster tools)/kubectl")" > "$scratch/bin/kubectl"
chmod +x "$scratch/bin"/*
guide() {
  KUBECONFIG=$CLUSTER_DIR/kubeconfig PATH=$scratch/bin:$PATH $cluster in cp bash -euo pipefail -c "$1"
}
# blocks PAGE HEADING: the shell blocks of a section.
blocks() {
  awk -v heading="## $2" '/^## /{on = ($0 == heading)} on && /^```sh/{inside = 1; next} /^```/{inside = 0} on && inside' "docs/$1"
}

step 'install.md: Helm, The first type'
guide "$(blocks install.md Helm)"
guide "$(blocks install.md 'The first type')"
guide 'helm test annex -n annex-system --logs' | tee "$scratch/doctor"
grep -q '^kubernetes API: ok\|: ok' "$scratch/doctor"
guide 'kubectl create namespace reports; kubectl apply -n reports -f examples/objects'

step 'an upgrade'
guide 'helm upgrade annex charts/annex -n annex-system --set image.repository="$IMAGE" --set podAnnotations.again=yes --wait --timeout 4m'
guide 'kubectl get policyreports -n reports' | grep -q '^sample-'

step 'a node is lost'
other=$(guide "kubectl -n annex-system get pods -l app.kubernetes.io/name=annex -o jsonpath='{.items[?(@.spec.nodeName==\"n2\")].metadata.name}'")
[ -n "$other" ] || { echo 'no replica is on n2' >&2; exit 1; }
# The replicas have to know each other.
sleep 10
$cluster cut n2
taken_out() { [ "$(guide "kubectl -n annex-system get pod $other -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].reason}'")" = PeerGetsNoAnswer ]; }
eventually taken_out
eventually guide 'kubectl --request-timeout 5s get policyreports -n reports'
echo "served again $SECONDS s after the start"
$cluster join n2
returned() { [ "$(guide "kubectl -n annex-system get pod $other -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'")" = True ]; }
eventually returned

step 'removal'
guide 'kubectl delete namespace reports --timeout 2m; helm uninstall annex -n annex-system --wait'
gone() { [ -z "$(guide 'kubectl get apiservices -o name' | grep kubeannex)" ]; }
eventually gone
step done
