#!/usr/bin/env bash
# A Kubernetes cluster of two nodes on this machine: kubelet, containerd, kube-proxy, in network namespaces of its own. No registry, no
# container engine; images come from files of this machine. Needs root, Go (for what is not built yet), and Debian's packages
# containerd, runc, containernetworking-plugins, iptables, conntrack and openssl.
#   hack/cluster/cluster.sh up | down | check | load ARCHIVE | kubectl ARGUMENTS | in cp|n1|n2 COMMAND | cut n2 | join n2 | apiserver | tools
# `cut` takes the node's network away, `join` gives it back; `apiserver` starts kube-apiserver anew, in the environment of the caller.
# CLUSTER_DIR (/tmp/annex-cluster) has its files; $CLUSTER_DIR/kubeconfig is good inside of the namespace cp.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${CLUSTER_DIR:-/tmp/annex-cluster}
prefix=${CLUSTER_PREFIX:-annexc}
server=10.89.0.10
nodes=(n1 n2)
address() { case $1 in cp) echo "$server" ;; n1) echo 10.89.0.11 ;; n2) echo 10.89.0.12 ;; esac; }
pods() { echo "10.91.${1#n}.0/24"; }
services=10.92.0.0/16

# `ip netns exec` hides the cgroups, so enter the network namespace alone.
inside() { nsenter --net="/run/netns/$prefix-$1" "${@:2}"; }
kubectl() { inside cp "$tools/kubectl" --kubeconfig "$dir/kubeconfig" "$@"; }

check() {
  local missing=() program
  [ "$(id -u)" = 0 ] || missing+=('root')
  for program in containerd runc ctr iptables ip nsenter conntrack openssl; do
    command -v "$program" > /dev/null || missing+=("$program")
  done
  [ -x /usr/lib/cni/bridge ] || missing+=('the CNI plugins (containernetworking-plugins)')
  grep -qw overlay /proc/filesystems || missing+=('overlayfs in the kernel')
  if [ "$(id -u)" = 0 ] && command -v ip > /dev/null; then
    if ip netns add "$prefix-probe" 2> /dev/null; then
      if command -v iptables > /dev/null; then
        ip netns exec "$prefix-probe" iptables -t nat -A POSTROUTING -m comment --comment probe -j MASQUERADE 2> /dev/null || missing+=('NAT of iptables in the kernel')
      fi
      ip netns exec "$prefix-probe" ip link add br0 type bridge 2> /dev/null || missing+=('bridges in the kernel')
      ip netns del "$prefix-probe"
    else
      missing+=('network namespaces (ip netns add)')
    fi
  fi
  for program in cpu memory pids devices freezer; do
    [ -e /sys/fs/cgroup/cgroup.controllers ] || [ -d "/sys/fs/cgroup/$program" ] || missing+=("the cgroup $program, mounted at /sys/fs/cgroup")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    echo 'cluster: nothing was started. Missing here:' >&2
    printf '  - %s\n' "${missing[@]}" >&2
    exit 3
  fi
}

# start NAME NAMESPACE COMMAND…: in the background, with a log and a file with its process id.
start() {
  # Not by the function: the process id has to be that of the command.
  nsenter --net="/run/netns/$prefix-$2" setsid "${@:3}" > "$dir/$1.log" 2>&1 &
  echo $! > "$dir/$1.pid"
}

# wait_for WHAT COMMAND…
wait_for() {
  local what=$1 deadline=$((SECONDS + 240))
  shift
  until "$@" > /dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || { echo "cluster: not within 240 s: $what; see $dir/*.log" >&2; exit 1; }
    sleep 0.5
  done
}

network() {
  local name at
  ip netns add "$prefix-net"
  inside net ip link add br0 type bridge
  inside net ip link set br0 up
  for name in cp "${nodes[@]}"; do
    ip netns add "$prefix-$name"
    ip link add "$prefix-$name" netns "$prefix-net" type veth peer name eth0 netns "$prefix-$name"
    inside net ip link set "$prefix-$name" master br0 up
    inside "$name" ip address add "$(address "$name")/24" dev eth0
    inside "$name" ip link set lo up
    inside "$name" ip link set eth0 up
    inside "$name" sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
    # Addresses of services are translated on the way out, which takes a route.
    [ "$name" = cp ] || inside "$name" ip route add default via "$server"
    [ "$name" != cp ] || inside cp ip route add "$services" via "$(address n1)"
  done
  for name in cp "${nodes[@]}"; do
    for at in "${nodes[@]}"; do
      [ "$name" = "$at" ] || inside "$name" ip route add "$(pods "$at")" via "$(address "$at")"
    done
  done
}

# certificate FILE SUBJECT [ALTERNATIVE NAMES]: signed by the only CA of the cluster.
certificate() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$dir/pki/$1.key" -subj "$2" -out "$dir/pki/$1.csr" 2> /dev/null
  openssl x509 -req -in "$dir/pki/$1.csr" -CA "$dir/pki/ca.crt" -CAkey "$dir/pki/ca.key" -CAcreateserial -days 30 -out "$dir/pki/$1.crt" \
    -extfile <(echo "extendedKeyUsage=serverAuth,clientAuth"; [ -z "${3:-}" ] || echo "subjectAltName=$3") 2> /dev/null
}

# kubeconfig FILE NAME OF THE CERTIFICATE
kubeconfig() {
  cat > "$1" << END
{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
 clusters: [{name: c, cluster: {server: "https://$server:6443", certificate-authority: $dir/pki/ca.crt}}],
 users: [{name: u, user: {client-certificate: $dir/pki/$2.crt, client-key: $dir/pki/$2.key}}]}
END
}

keys() {
  mkdir -p "$dir/pki"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=cluster -keyout "$dir/pki/ca.key" -out "$dir/pki/ca.crt" 2> /dev/null
  openssl genrsa -out "$dir/pki/sa.key" 2048 2> /dev/null
  certificate apiserver /CN=kube-apiserver "IP:$server,IP:10.92.0.1,DNS:kubernetes.default.svc,DNS:localhost"
  certificate admin /O=system:masters/CN=admin
  certificate front-proxy /CN=front-proxy
  certificate controllers /CN=system:kube-controller-manager
  certificate scheduler /CN=system:kube-scheduler
  certificate proxy /CN=system:kube-proxy
  kubeconfig "$dir/kubeconfig" admin
  kubeconfig "$dir/controllers.kubeconfig" controllers
  kubeconfig "$dir/scheduler.kubeconfig" scheduler
  kubeconfig "$dir/proxy.kubeconfig" proxy
}

control_plane() {
  start etcd cp "$tools/etcd" --data-dir "$dir/etcd" --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380 --unsafe-no-fsync
  apiserver
}

# The other parts end when they lose kube-apiserver, and nobody else starts them here.
apiserver() {
  # shellcheck disable=SC2086
  start kube-apiserver cp "$tools/kube-apiserver" --etcd-servers http://127.0.0.1:2379 --advertise-address "$server" --service-cluster-ip-range "$services" \
    --tls-cert-file "$dir/pki/apiserver.crt" --tls-private-key-file "$dir/pki/apiserver.key" --client-ca-file "$dir/pki/ca.crt" \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$dir/pki/sa.key" --service-account-signing-key-file "$dir/pki/sa.key" \
    --kubelet-client-certificate "$dir/pki/admin.crt" --kubelet-client-key "$dir/pki/admin.key" --kubelet-preferred-address-types InternalIP \
    --authorization-mode Node,RBAC --requestheader-client-ca-file "$dir/pki/ca.crt" --requestheader-allowed-names front-proxy \
    --requestheader-username-headers X-Remote-User --requestheader-group-headers X-Remote-Group --requestheader-extra-headers-prefix X-Remote-Extra- \
    --proxy-client-cert-file "$dir/pki/front-proxy.crt" --proxy-client-key-file "$dir/pki/front-proxy.key" ${KUBE_APISERVER_FLAGS:-}
  wait_for 'kube-apiserver is ready' kubectl get --raw /readyz
  start kube-controller-manager cp "$tools/kube-controller-manager" --kubeconfig "$dir/controllers.kubeconfig" --use-service-account-credentials \
    --root-ca-file "$dir/pki/ca.crt" --service-account-private-key-file "$dir/pki/sa.key" \
    --cluster-signing-cert-file "$dir/pki/ca.crt" --cluster-signing-key-file "$dir/pki/ca.key"
  start kube-scheduler cp "$tools/kube-scheduler" --kubeconfig "$dir/scheduler.kubeconfig"
}

# kube-proxy knows its own address from the Node, also where no kubelet runs.
proxy() {
  cat > "$dir/$1-proxy.yaml" << END
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
hostnameOverride: $1
clusterCIDR: 10.91.0.0/16
clientConnection: {kubeconfig: $dir/proxy.kubeconfig}
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0}
END
  start "$1-kube-proxy" "$1" "$tools/kube-proxy" --config "$dir/$1-proxy.yaml"
}

node() {
  local name=$1 own=$dir/$1 controller
  mkdir -p "$own/cni" "$own/kubelet"
  cat > "$own/cni/10-bridge.conf" << END
{"cniVersion": "0.4.0", "name": "pods", "type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
 "ipam": {"type": "host-local", "dataDir": "$own/ipam", "ranges": [[{"subnet": "$(pods "$name")"}]], "routes": [{"dst": "0.0.0.0/0"}]}}
END
  cat > "$own/containerd.toml" << END
version = 2
root = "$own/containerd"
state = "$own/run"
oom_score = 0
[grpc]
  address = "$own/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  disable_tcp_service = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$own/cni"
END
  start "$name-containerd" "$name" containerd --config "$own/containerd.toml"
  certificate "$name" "/O=system:nodes/CN=system:node:$name" "IP:$(address "$name"),DNS:$name"
  kubeconfig "$own/kubeconfig" "$name"
  : > "$own/resolv.conf"
  for controller in /sys/fs/cgroup/*/; do
    [ -e /sys/fs/cgroup/cgroup.controllers ] || mkdir -p "${controller}$prefix-$name"
  done
  [ ! -e /sys/fs/cgroup/cgroup.controllers ] || mkdir -p "/sys/fs/cgroup/$prefix-$name"
  cat > "$own/kubelet.yaml" << END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: $dir/pki/ca.crt}}
authorization: {mode: AlwaysAllow}
tlsCertFile: $dir/pki/$name.crt
tlsPrivateKeyFile: $dir/pki/$name.key
containerRuntimeEndpoint: unix://$own/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /$prefix-$name
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
resolvConf: $own/resolv.conf
clusterDomain: cluster.local
evictionHard: {memory.available: 0%, nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.available: 0%, imagefs.inodesFree: 0%}
imageGCHighThresholdPercent: 100
podLogsDir: $own/logs
volumePluginDir: $own/plugins
nodeStatusUpdateFrequency: 5s
END
  wait_for "containerd of $name" ctr --address "$own/containerd.sock" version
  start "$name-kubelet" "$name" "$tools/kubelet" --config "$own/kubelet.yaml" --kubeconfig "$own/kubeconfig" --root-dir "$own/kubelet" \
    --hostname-override "$name" --node-ip "$(address "$name")"
}

load() {
  for name in "${nodes[@]}"; do
    inside "$name" ctr --address "$dir/$name/containerd.sock" --namespace k8s.io images import --all-platforms "$1" > /dev/null
  done
}

up() {
  check
  [ ! -e "$dir/kubeconfig" ] || { echo "cluster: $dir is in use; run $0 down first" >&2; exit 1; }
  mkdir -p "$dir"
  tools=$("$here/../tools/build.sh" etcd kube-apiserver kube-controller-manager kube-scheduler kubectl kubelet kube-proxy pause)
  network
  keys
  control_plane
  kubectl create clusterrolebinding kube-proxy --clusterrole system:node-proxier --user system:kube-proxy
  kubectl create -f - << END
{apiVersion: v1, kind: Node, metadata: {name: cp}, spec: {unschedulable: true, podCIDR: 10.91.0.0/24}}
END
  kubectl patch node cp --subresource status --type merge -p "{\"status\": {\"addresses\": [{\"type\": \"InternalIP\", \"address\": \"$server\"}]}}"
  proxy cp
  for name in "${nodes[@]}"; do node "$name"; proxy "$name"; done
  "$here/image.sh" pause localhost/pause:1 "$dir/pause.tar"
  load "$dir/pause.tar"
  wait_for 'both nodes are ready' kubectl wait --for condition=Ready --timeout 1s node/n1 node/n2
  wait_for 'pods can be created' kubectl get serviceaccount default
  kubectl get nodes -o wide
}

down() {
  local file name own mount
  # Containers first: their shims are children of nobody.
  for name in "${nodes[@]}"; do
    own=$dir/$name
    [ ! -e "$dir/$name-kubelet.pid" ] || kill "$(cat "$dir/$name-kubelet.pid")" 2> /dev/null || true
    if [ -S "$own/containerd.sock" ]; then
      ctr --address "$own/containerd.sock" --namespace k8s.io tasks ls -q 2> /dev/null | while read -r task; do
        ctr --address "$own/containerd.sock" --namespace k8s.io tasks rm --force "$task" > /dev/null 2>&1 || true
      done
    fi
  done
  for file in "$dir"/*.pid; do
    [ ! -e "$file" ] || kill "$(cat "$file")" 2> /dev/null || true
  done
  sleep 1
  for file in "$dir"/*.pid; do
    [ ! -e "$file" ] || kill -9 "$(cat "$file")" 2> /dev/null || true
  done
  # Shims that are left name the socket of their containerd.
  { pgrep -f "containerd-shim.*-address $dir/" || true; } | xargs -r kill -9 2> /dev/null || true
  awk -v under="$dir/" 'index($2, under) == 1 {print $2}' /proc/mounts | sort -r | while read -r mount; do umount -l "$mount" || true; done
  for name in cp "${nodes[@]}" net; do
    ip netns del "$prefix-$name" 2> /dev/null || true
  done
  for name in "${nodes[@]}"; do
    find /sys/fs/cgroup -depth -type d -path "*/$prefix-$name*" -exec rmdir {} + 2> /dev/null || true
  done
  rm -rf --one-file-system "$dir"
}

tools=${ANNEX_TOOLS_DIR:-$here/../../.cache/tools}
case ${1:-} in
  check) check ;;
  up) up ;;
  down) down ;;
  load) load "$2" ;;
  kubectl) kubectl "${@:2}" ;;
  in) exec nsenter --net="/run/netns/$prefix-$2" "${@:3}" ;;
  apiserver)
    for name in kube-scheduler kube-controller-manager kube-apiserver; do
      kill "$(cat "$dir/$name.pid")" 2> /dev/null || true
      wait_for "$name has ended" sh -c "! kill -0 $(cat "$dir/$name.pid")"
    done
    apiserver
    ;;
  cut) inside net ip link set "$prefix-$2" down ;;
  join) inside net ip link set "$prefix-$2" up ;;
  tools) echo "$tools" ;;
  *) sed -n '2,8p' "$0" >&2; exit 2 ;;
esac
