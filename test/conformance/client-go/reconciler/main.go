// Command reconciler is a controller of controller-runtime: for each object of a resource it keeps a ConfigMap of the same name, which the
// object owns. It ends with its standard input, and then prints what it did as JSON.
//
//	reconciler KUBECONFIG GROUP VERSION KIND NAMESPACE
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type reconciler struct {
	client.Client
	kind    schema.GroupVersionKind
	created atomic.Int64
	updated atomic.Int64
	failed  atomic.Int64
}

// Reconcile writes the size of the object into its ConfigMap.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	owner := &unstructured.Unstructured{}
	owner.SetGroupVersionKind(r.kind)
	if err := r.Get(ctx, request.NamespacedName, owner); err != nil || owner.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	size, _, _ := unstructured.NestedString(owner.Object, "spec", "size")
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}}
	done, err := controllerutil.CreateOrUpdate(ctx, r.Client, config, func() error {
		config.Data = map[string]string{"size": size}
		return controllerutil.SetControllerReference(owner, config, r.Scheme())
	})
	switch {
	case err != nil:
		r.failed.Add(1)
	case done == controllerutil.OperationResultCreated:
		r.created.Add(1)
	case done == controllerutil.OperationResultUpdated:
		r.updated.Add(1)
	}
	return ctrl.Result{}, err
}

func run() error {
	if len(os.Args) != 6 {
		return fmt.Errorf("usage: reconciler KUBECONFIG GROUP VERSION KIND NAMESPACE")
	}
	ctrl.SetLogger(funcr.New(func(prefix, args string) { fmt.Fprintln(os.Stderr, prefix, args) }, funcr.Options{}))
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metrics.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{os.Args[5]: {}}},
	})
	if err != nil {
		return err
	}
	r := &reconciler{Client: manager.GetClient(), kind: schema.GroupVersionKind{Group: os.Args[2], Version: os.Args[3], Kind: os.Args[4]}}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(r.kind)
	err = ctrl.NewControllerManagedBy(manager).Named("sizes").For(object).Owns(&corev1.ConfigMap{}).Complete(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := manager.Start(ctx); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]int64{
		"created": r.created.Load(), "updated": r.updated.Load(), "failed": r.failed.Load(),
	})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
