# shellcheck shell=bash
# The stages of e2e.sh (and `settings`, in faults.sh, which is only run by name), in which Annex is installed, operated and removed as docs/ says.
STAGES='images mongodb install definitions upgrade troubleshooting runbooks adoption outage detach hung node second certificates openshift removal manifests embedded'

pods() { guide "kubectl -n annex-system get pods -l app.kubernetes.io/name=annex --field-selector status.phase=Running -o ${1:-name}"; }
two() { [ "$(pods "jsonpath='{range .items[?(@.status.containerStatuses[0].ready==true)]}{.metadata.name} {end}'" | wc -w)" = 2 ] && [ "$(pods | wc -l)" = 2 ]; }
on_node() { pods "jsonpath='{.items[?(@.spec.nodeName==\"$1\")].metadata.name}'"; }
REPORTS=/apis/wgpolicyk8s.io/v1alpha2/namespaces/reports/policyreports
available() { guide 'kubectl wait apiservice/v1.kubeannex.io apiservice/v1alpha2.wgpolicyk8s.io --for condition=Available --timeout 1s'; }
# probe PATH and probed: what happens to a request in the meantime.
probe() {
  $cluster in cp node hack/cluster/probe.mjs "$CLUSTER_DIR" "$1" > "$scratch/probe" &
  probing=$!
}
probed() {
  kill $probing && wait $probing || true
  echo "$1: $(cat "$scratch/probe")"
}
since() { echo "$(($(date +%s) - $1)) s"; }

stage_images() {
  hack/cluster/image.sh annex "$IMAGE:$version" "$scratch/annex.tar"
  hack/cluster/image.sh mongod localhost/mongod:test "$scratch/mongod.tar"
  for image in annex mongod; do $cluster load "$scratch/$image.tar"; done
  node hack/build.mjs > /dev/null
}

stage_mongodb() {
  mkdir -p "$CLUSTER_DIR/n1/mongodb"
  guide "kubectl create namespace database; kubectl create -f - << YAML
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Service
    metadata: {name: mongodb, namespace: database}
    spec: {selector: {app: mongodb}, ports: [{port: 27017}]}
  - apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: mongodb, namespace: database}
    spec:
      serviceName: mongodb
      selector: {matchLabels: {app: mongodb}}
      template:
        metadata: {labels: {app: mongodb}}
        spec:
          # The node that stays.
          nodeName: n1
          terminationGracePeriodSeconds: 10
          containers:
            - name: mongod
              image: localhost/mongod:test
              imagePullPolicy: Never
              args: [--replSet, rs0, --bind_ip_all, --wiredTigerCacheSizeGB, '0.25', --dbpath, /data]
              volumeMounts: [{name: data, mountPath: /data}]
          volumes: [{name: data, hostPath: {path: $CLUSTER_DIR/n1/mongodb}}]
YAML
kubectl -n database rollout status statefulset/mongodb --timeout 2m"
  address
  eventually mongosh "client.db('admin').command({ replSetInitiate: { _id: 'rs0', members: [{ _id: 0, host: '$at' }] } })
    .catch((error) => { if (error.codeName !== 'AlreadyInitialized') throw error; })"
}
# There is no DNS in this cluster.
address() {
  at=$($cluster kubectl -n database get service mongodb -o jsonpath='{.spec.clusterIP}'):27017
  export MONGODB_URI="mongodb://$at/?replicaSet=rs0"
}
mongosh() {
  $cluster in cp node -e "
    const { MongoClient } = require('mongodb');
    const client = new MongoClient('mongodb://$at/?directConnection=true', { serverSelectionTimeoutMS: 2000 });
    ($1).then(() => client.close(), (error) => { console.error(error.message); process.exit(1); });"
}

stage_install() {
  address
  follow install.md Helm
  follow install.md 'The first type'
  guide 'kubectl create namespace reports'
  guide 'kubectl apply -n reports -f examples/objects/policyreport-sample-cis-k8s-sample-cis-bench-api-server.yaml'
  eventually two
}

# kubectl waits for a condition right after a definition or an Adoption is made.
stage_definitions() {
  local i
  for i in $(seq 10); do
    sed "s/GROUP/g$i.example.com/" > "$scratch/definition.yaml" << 'YAML'
apiVersion: kubeannex.io/v1
kind: ResourceDefinition
metadata: {name: things.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
YAML
    guide "kubectl apply -f $scratch/definition.yaml; kubectl wait rd/things.g$i.example.com --for=condition=Registered --timeout=1m"
  done
  guide 'kubectl delete rd -l "!none" --field-selector metadata.name!=policyreports.wgpolicyk8s.io --timeout 1m' || true
}

stage_upgrade() {
  probe "$REPORTS"
  guide 'helm upgrade annex charts/annex -n annex-system --reuse-values --set podAnnotations.again=yes --wait'
  follow upgrading.md
  guide 'helm rollback annex 1 -n annex-system --wait'
  probed 'two upgrades and rollbacks'
  eventually two
  guide 'kubectl get policyreports -n reports' | grep -q '^sample-'
}

stage_troubleshooting() {
  NAMESPACE=reports follow troubleshooting.md > "$scratch/followed" || { cat "$scratch/followed"; fail troubleshooting; }
  # Annex knows the flags of the server that runs in the pod.
  prints '^APIService v1.kubeannex.io: ok' guide 'kubectl -n annex-system exec deployment/annex -- annex doctor'
}

stage_runbooks() {
  local page
  # AnnexDown looks at the log of a container that has ended.
  for pod in $(pods); do guide "kubectl -n annex-system exec $pod -- node -e 'process.kill(1)'" || true; done
  sleep 5
  eventually two
  eventually available
  # AnnexNoBackup looks at a CronJob that has not succeeded.
  guide "kubectl -n annex-system create cronjob annex-backup --image=$IMAGE:$version --schedule='0 0 1 1 *'"
  for page in docs/runbooks/Annex*.md; do
    page=${page#docs/}
    [ "$page" != runbooks/AnnexAPIServiceUnavailable.md ] || { follow "$page" Diagnosis; continue; }
    [ "$page" != runbooks/AnnexAdoptionStuck.md ] || continue
    echo "-- $page"
    if blocks "$page" | grep -v -q ' top pods '; then follow "$page" > "$scratch/runbook"; fi
  done
  guide 'kubectl -n annex-system delete cronjob annex-backup'
}

# A group of the cluster moves to Annex and back, by the guide; helm says why it does not uninstall meanwhile.
stage_adoption() {
  local page=adopting-a-crd.md revision
  export GROUP=aquasecurity.github.io
  guide "for file in examples/crds/${GROUP}_*; do kubectl apply --server-side -f \$file; done
    kubectl wait --for=condition=Established crd --all --timeout=1m
    sed '/ownerReferences:/,/^  [a-z]/{/ownerReferences:/d; /^    /d}; /^  uid:/d' examples/objects/configauditreport-*.yaml > $scratch/report.yaml
    kubectl apply -n reports -f $scratch/report.yaml"
  # The plan names the rights that the chart then grants.
  guide "$(blocks $page '1. Look at the plan' | sed '/^helm/,$d')" > "$scratch/plan" && fail 'no right was missing'
  prints 'Permissions that annex-system/annex lacks' cat "$scratch/plan"
  guide "$(blocks $page '1. Look at the plan' | sed -n '/^helm/,$p')"
  guide "$(blocks $page '1. Look at the plan' | sed '/^helm/,$d')"
  follow $page '2. Rehearse'
  follow $page '3. Look closer'
  guide "kubectl wait adoption/$GROUP --for=condition=Switchable --timeout=3m"
  follow $page '4. Switch'
  follow runbooks/AnnexAdoptionStuck.md
  guide 'kubectl get configauditreports -n reports'
  # What somebody sees who uninstalls now.
  guide 'helm uninstall annex -n annex-system --wait' > "$scratch/refusal" 2>&1 && fail 'helm uninstalled while a group is adopted'
  cat "$scratch/refusal"
  grep -q "annex release $GROUP" "$scratch/refusal" || fail 'helm does not say the remedy'
  guide 'kubectl -n annex-system logs annex-uninstall-check' | grep -q "annex release $GROUP"
  revision=$(guide "helm history annex -n annex-system -o json" | node -p 'JSON.parse(require("fs").readFileSync(0)).at(-1).revision')
  guide "helm rollback annex $revision -n annex-system --wait"
  guide 'kubectl get configauditreports -n reports'
  follow $page '5. After the switch'
  follow $page '6. Move it back'
  guide "kubectl get configauditreports -n reports; for file in examples/crds/${GROUP}_*; do kubectl delete -f \$file; done"
  unset GROUP
}

stage_second() {
  address
  guide 'kubectl create clusterrolebinding second-admin --clusterrole cluster-admin --serviceaccount default:default'
  sed 's/things.GROUP/things.second.example.com/; s/GROUP/second.example.com/' > "$scratch/definition.yaml" << 'YAML'
apiVersion: kubeannex.io/v1
kind: ResourceDefinition
metadata: {name: things.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
YAML
  # kube-apiserver has the port that the guide forwards.
  WHERE=n2 ACCOUNT=default DEFINITION=$scratch/definition.yaml follow install.md 'Two releases in one cluster'
  guide 'kubectl wait apiservice/v1.second.example.com --for=create --timeout=1m; kubectl wait apiservice/v1.second.example.com --for=condition=Available --timeout=1m; kubectl get things -A'
  guide 'helm uninstall second -n second --wait; kubectl delete clusterrolebinding second-admin; kubectl delete namespace second --timeout 2m'
}

# cert-manager itself is not here: its definition is, and what it would issue.
stage_certificates() {
  address
  guide 'kubectl create -f - << YAML
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: certificates.cert-manager.io}
spec:
  group: cert-manager.io
  scope: Namespaced
  names: {plural: certificates, singular: certificate, kind: Certificate}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
YAML
kubectl wait --for=condition=Established crd/certificates.cert-manager.io --timeout=1m'
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=issuer -keyout "$scratch/ca.key" -out "$scratch/ca.crt" 2> /dev/null
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$scratch/tls.key" -subj /CN=annex -out "$scratch/tls.csr" 2> /dev/null
  openssl x509 -req -in "$scratch/tls.csr" -CA "$scratch/ca.crt" -CAkey "$scratch/ca.key" -CAcreateserial -days 30 -out "$scratch/tls.crt" \
    -extfile <(echo 'subjectAltName=DNS:annex.annex-system.svc') 2> /dev/null
  guide "kubectl -n annex-system create secret generic annex-serving --type kubernetes.io/tls --from-file $scratch/tls.crt --from-file $scratch/tls.key --from-file $scratch/ca.crt"
  ISSUER=company follow install.md cert-manager
  guide 'kubectl -n annex-system rollout status deployment/annex --timeout 3m'
  eventually available
  guide 'kubectl get policyreports -n reports'
  guide "$(awk '/^```sh secret$/{inside = 1; next} /^```/{inside = 0} inside' docs/runbooks/AnnexServingCertificateExpires.md)"
  guide 'helm rollback annex -n annex-system --wait; kubectl delete crd certificates.cert-manager.io; kubectl -n annex-system delete secret annex-serving'
  eventually available
}

stage_openshift() {
  address
  follow install.md OpenShift
  guide 'kubectl -n annex-system rollout status deployment/annex --timeout 3m; helm rollback annex -n annex-system --wait'
  eventually two
}

gone() { [ -z "$(guide 'kubectl get apiservices -l app.kubernetes.io/managed-by=annex -o name')" ]; }

stage_removal() {
  follow install.md Uninstalling
  eventually gone
  guide 'kubectl get job,pod -n annex-system'
  [ -z "$(guide 'kubectl get job -n annex-system -o name')" ] || fail 'helm uninstall has left a Job'
  guide 'kubectl -n annex-system delete pod --all'
}

# The definitions and objects are still there, for an installation without helm.
stage_manifests() {
  address
  follow install.md Manifests > "$scratch/manifests" || { cat "$scratch/manifests"; fail manifests; }
  cat "$scratch/manifests"
  eventually gone
  guide 'kubectl -n annex-system get secret annex-mongodb'
  # Once more, without removing it at the end.
  guide 'sed "s|image: \"annex:|image: \"$IMAGE:|" manifests/annex.yaml | kubectl apply -f -; kubectl -n annex-system rollout status deployment/annex --timeout 3m'
  eventually guide 'kubectl get policyreports -n reports'
  guide 'kubectl get policyreports -n reports' | grep -q '^sample-'
  guide 'kubectl delete namespace reports --timeout 2m; kubectl delete -f manifests/annex.yaml'
  eventually gone
}

# The embedded store: one replica, a volume, and an installation right after a removal.
stage_embedded() {
  mkdir -p "$CLUSTER_DIR/n1/embedded"
  chown 65532:65532 "$CLUSTER_DIR/n1/embedded"
  guide "kubectl create -f - << YAML
apiVersion: v1
kind: PersistentVolume
metadata: {name: embedded}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: $CLUSTER_DIR/n1/embedded}
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: embedded, namespace: annex-system}
spec: {accessModes: [ReadWriteOnce], storageClassName: '', volumeName: embedded, resources: {requests: {storage: 10Gi}}}
YAML"
  embedded() { guide 'helm install annex charts/annex -n annex-system --set image.repository="$IMAGE" --set storage.backend=embedded --set replicas=1 --set storage.embedded.existingClaim=embedded --wait --timeout 4m; kubectl wait apiservice/v1.kubeannex.io --for condition=Available --timeout 1m' > /dev/null; }
  embedded
  guide 'helm test annex -n annex-system --logs'
  guide 'helm uninstall annex -n annex-system --wait'
  embedded
  [ "$(pods "jsonpath='{.items[0].status.containerStatuses[0].restartCount}'")" = 0 ] || fail 'the new pod has crashed'
  guide 'kubectl -n annex-system logs deployment/annex' | grep 'data directory' || true
  guide 'helm uninstall annex -n annex-system --wait'
}
