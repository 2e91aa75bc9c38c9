// Command etcd is the store of the reference kube-apiserver in tests and benches.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
