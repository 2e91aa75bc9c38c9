// Command controller-runtime maintains a ConfigMap report-summary in each namespace with policy reports: the number of reports and
// of failed results. With -once it exits after every such namespace has a summary.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const summary = "report-summary"

var kind = schema.GroupVersionKind{Group: "wgpolicyk8s.io", Version: "v1alpha2", Kind: "PolicyReport"}

type reconciler struct{ client.Client }

// Reconcile is called with the namespace of a report that changed.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.List(ctx, list, client.InNamespace(request.Namespace)); err != nil {
		return ctrl.Result{}, err
	}
	var failed int64
	for _, report := range list.Items {
		count, _, _ := unstructured.NestedInt64(report.Object, "summary", "fail")
		failed += count
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: summary}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, config, func() error {
		config.Data = map[string]string{
			"reports": strconv.Itoa(len(list.Items)),
			"failed":  strconv.FormatInt(failed, 10),
		}
		return nil
	})
	return ctrl.Result{}, err
}

func run() error {
	once := flag.Bool("once", false, "exit after every namespace with reports has a summary")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{Metrics: metrics.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	report := &unstructured.Unstructured{}
	report.SetGroupVersionKind(kind)
	// Map all reports of a namespace to one request.
	byNamespace := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: summary}}}
	})
	err = ctrl.NewControllerManagedBy(manager).Named(summary).Watches(report, byNamespace).Complete(&reconciler{manager.GetClient()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctrl.SetupSignalHandler())
	defer cancel()
	if *once {
		go func() {
			defer cancel()
			for ctx.Err() == nil && !complete(ctx, manager.GetAPIReader()) {
				time.Sleep(100 * time.Millisecond)
			}
		}()
	}
	return manager.Start(ctx)
}

// complete prints the summaries when each namespace with reports has one.
func complete(ctx context.Context, reader client.Reader) bool {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if reader.List(ctx, list) != nil {
		return false
	}
	lines := map[string]string{}
	for _, report := range list.Items {
		config := &corev1.ConfigMap{}
		name := types.NamespacedName{Namespace: report.GetNamespace(), Name: summary}
		if reader.Get(ctx, name, config) != nil {
			return false
		}
		lines[name.Namespace] = fmt.Sprintf("%s: %s reports, %s failed", name.Namespace, config.Data["reports"], config.Data["failed"])
	}
	for _, line := range lines {
		fmt.Println(line)
	}
	return true
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
