# shellcheck shell=bash
# The stages of e2e.sh in which something is away or fails: MongoDB, all replicas, one replica, a node.

# MongoDB has no member for a while. The rest of the cluster does not notice.
stage_outage() {
  address
  local begun round=0 informer=$(dirname "$($cluster tools)/informer")/informer
  mkdir -p "$scratch/unrelated/templates"
  printf 'apiVersion: v2\nname: unrelated\nversion: 0.1.0\n' > "$scratch/unrelated/Chart.yaml"
  printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: unrelated}\ndata: {round: "{{ .Values.round }}"}\n' > "$scratch/unrelated/templates/map.yaml"
  mkfifo "$scratch/until"
  guide "exec '$informer' '$CLUSTER_DIR/kubeconfig' wgpolicyk8s.io v1alpha2 policyreports reports" < "$scratch/until" > "$scratch/informer" &
  local informing=$!
  exec 7> "$scratch/until"
  eventually grep -q synced "$scratch/informer"
  probe "$REPORTS?resourceVersion=0"
  guide 'kubectl -n database scale statefulset/mongodb --replicas 0; kubectl -n database wait pod/mongodb-0 --for delete --timeout 1m'
  begun=$(date +%s)
  refused() { ! guide 'kubectl get policyreports -n reports' 2> "$scratch/refusal" && grep -q 'MongoDB has not answered' "$scratch/refusal"; }
  eventually refused
  until [ $(($(date +%s) - begun)) -ge "${E2E_OUTAGE_SECONDS:-45}" ]; do
    round=$((round + 1))
    available > /dev/null || fail 'the APIServices are not available'
    two || fail 'a replica is not ready'
    guide "kubectl create namespace unrelated-$round; kubectl delete namespace unrelated-$round --timeout 1m" > /dev/null
    guide "kubectl get all -A; kubectl api-resources" > /dev/null
    guide "helm upgrade --install unrelated $scratch/unrelated -n default --set round=$round" > /dev/null
    # Garbage collection looks at all types, too.
    guide "kubectl create configmap owner -n default -o name; uid=\$(kubectl get configmap owner -n default -o jsonpath='{.metadata.uid}')
      kubectl create -n default -f - << YAML
{apiVersion: v1, kind: ConfigMap, metadata: {name: owned, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: \$uid}]}}
YAML
      kubectl delete configmap owner -n default; kubectl wait configmap/owned -n default --for delete --timeout 1m" > /dev/null
    local asked=$SECONDS
    refused || fail "kubectl get was not refused: $(cat "$scratch/refusal")"
    [ $((SECONDS - asked)) -le 10 ] || fail 'kubectl get took more than 10 s to fail'
    guide "kubectl get rd policyreports.wgpolicyk8s.io -o jsonpath='{.status.conditions[?(@.type==\"StoreAvailable\")].message}'" 2> /dev/null > "$scratch/condition"
    grep -q 'MongoDB has not answered' "$scratch/condition" || fail 'no condition of the definition names the outage'
  done
  cat "$scratch/refusal"
  probed "$round rounds in $(since "$begun") without MongoDB; lists from memory"
  guide 'kubectl -n database scale statefulset/mongodb --replicas 1'
  begun=$(date +%s)
  eventually guide "kubectl create -n reports -f - << YAML
{apiVersion: wgpolicyk8s.io/v1alpha2, kind: PolicyReport, metadata: {name: after-$begun}}
YAML"
  echo "written again $(since "$begun") after MongoDB was started"
  eventually grep -q "after-$begun" "$scratch/informer"
  exec 7>&-
  wait $informing
  tail -n 1 "$scratch/informer"
  tail -n 1 "$scratch/informer" | grep -q -E '"(lists|streamed)":1[,}]' || fail 'the informer has listed again'
  guide 'helm uninstall unrelated -n default'
  eventually guide "kubectl wait rd/policyreports.wgpolicyk8s.io --for condition=StoreAvailable --timeout 1s"
}

# No replica is there: only the deletion of namespaces waits, and `annex detach` ends that.
stage_detach() {
  local begun
  local page=runbooks/AnnexAPIServiceUnavailable.md
  away
  guide 'kubectl create namespace waits; kubectl delete namespace waits --wait=false; sleep 15; kubectl get namespace waits'
  begun=$(date +%s)
  follow $page 'First, if it lasts: take Annex out of the cluster'
  guide 'kubectl wait namespace/waits --for delete --timeout 2m'
  echo "the namespace is gone $(since "$begun") after annex detach was called"
  guide 'kubectl -n annex-system scale deployment/annex --replicas 2'
  eventually two
  guide 'kubectl get apiservices -l app.kubernetes.io/managed-by=annex 2>&1' | grep -q 'No resources found' || fail 'a replica has registered again'
  begun=$(date +%s)
  follow $page 'When Annex answers again'
  eventually available
  echo "available again $(since "$begun") after annex attach was called"
  guide 'kubectl get policyreports -n reports' | grep -q '^sample-'
  follow $page Diagnosis
  # The same without detaching.
  away
  guide 'kubectl create namespace waits; kubectl delete namespace waits --wait=false'
  guide 'kubectl -n annex-system scale deployment/annex --replicas 2'
  begun=$(date +%s)
  eventually available
  echo "available again $(since "$begun") after replicas were asked for"
  guide 'kubectl wait namespace/waits --for delete --timeout 2m'
  echo "the namespace is gone $(since "$begun") after replicas were asked for"
  eventually two
}

# connected: the node of the replica to which kube-apiserver is connected.
connected() {
  local service name
  service=$($cluster kubectl -n annex-system get service annex -o jsonpath='{.spec.clusterIP}')
  name=$($cluster in cp conntrack -L -p tcp --orig-dst "$service" --state ESTABLISHED 2> /dev/null | grep -o 'src=10\.91\.[0-9]*' | tail -n 1)
  echo "n${name##*.}"
}
# One replica for each node. kube-apiserver is connected to that on n2, which comes first.
toward_n2() {
  away
  guide 'kubectl cordon n1; kubectl -n annex-system scale deployment/annex --replicas 1; kubectl -n annex-system rollout status deployment/annex'
  eventually available
  guide 'kubectl uncordon n1; kubectl cordon n2; kubectl -n annex-system scale deployment/annex --replicas 2'
  eventually two
  guide 'kubectl uncordon n2'
  # Connections of its own that kube-apiserver makes to look whether the service is there end soon.
  to_n2() { guide "kubectl get --raw '$REPORTS'" > /dev/null && [ "$(connected)" = n2 ]; }
  eventually to_n2
  # The replicas have to know each other.
  sleep 12
}
# away: no replica is there.
away() {
  guide 'kubectl -n annex-system scale deployment/annex --replicas 0; kubectl -n annex-system wait pod -l app.kubernetes.io/name=annex --for delete --timeout 1m'
  eventually guide 'kubectl wait apiservice/v1alpha2.wgpolicyk8s.io --for condition=Available=False --timeout 1s'
}

# The replica that gets the requests hangs.
stage_hung() {
  local pod container begun
  toward_n2
  pod=$(on_node n2)
  container=$(guide "kubectl -n annex-system get pod $pod -o jsonpath='{.status.containerStatuses[0].containerID}'")
  container=${container#containerd://}
  probe "$REPORTS"
  kill -STOP "$(ctr --address "$CLUSTER_DIR/n2/containerd.sock" --namespace k8s.io tasks ls | awk -v id="$container" '$1 == id {print $2}')"
  begun=$(date +%s)
  restarted() { [ "$(guide "kubectl -n annex-system get pod $pod -o jsonpath='{.status.containerStatuses[0].containerID}'")" != "containerd://$container" ]; }
  eventually restarted
  echo "started again after $(since "$begun")"
  eventually two
  probed 'a replica hangs'
}

# The node of the replica that gets the requests is lost.
stage_node() {
  local other
  toward_n2
  other=$(on_node n2)
  probe "$REPORTS"
  $cluster cut n2
  taken_out() { [ "$(guide "kubectl -n annex-system get pod $other -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].reason}'")" = PeerGetsNoAnswer ]; }
  eventually taken_out
  eventually guide 'kubectl --request-timeout 5s get policyreports -n reports'
  probed 'a node is lost'
  $cluster join n2
  returned() { [ "$(guide "kubectl -n annex-system get pod $other -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].status}'")" = True ]; }
  eventually returned
}

# The same where the replicas cannot help: only the settings of kube-apiserver do.
stage_settings() {
  local role=role/annex before without
  before=$(guide "kubectl -n annex-system get $role -o json" | node -p 'JSON.stringify({rules: JSON.parse(require("fs").readFileSync(0)).rules})')
  without=$(node -p 'JSON.stringify({rules: JSON.parse(process.argv[1]).rules.filter((rule) => !rule.apiGroups.includes("discovery.k8s.io"))})' "$before")
  guide "kubectl -n annex-system patch $role --type merge -p '$without'"
  HTTP2_READ_IDLE_TIMEOUT_SECONDS=3 HTTP2_PING_TIMEOUT_SECONDS=2 $cluster apiserver
  eventually available
  toward_n2
  probe "$REPORTS"
  $cluster cut n2
  sleep 2
  eventually guide "kubectl --request-timeout 2s get --raw '$REPORTS'"
  sleep 3
  probed 'a node is lost, without the help of the replicas, with 3 + 2 s'
  $cluster join n2
  guide "kubectl -n annex-system patch $role --type merge -p '$before'"
  $cluster apiserver
  eventually available
  eventually two
}
