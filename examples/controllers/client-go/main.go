// Command client-go prints policy reports with failures as they are added and updated. With -once it exits after the initial list.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

var reports = schema.GroupVersionResource{Group: "wgpolicyk8s.io", Version: "v1alpha2", Resource: "policyreports"}

func show(object any) {
	report, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	if failed, _, _ := unstructured.NestedInt64(report.Object, "summary", "fail"); failed > 0 {
		fmt.Printf("%s/%s: %d failed\n", report.GetNamespace(), report.GetName(), failed)
	}
}

func run() error {
	once := flag.Bool("once", false, "exit after all existing reports have been processed")
	flag.Parse()
	// $KUBECONFIG, or the service account of the pod.
	loading := clientcmd.NewDefaultClientConfigLoadingRules()
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(loading, nil).ClientConfig()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()

	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 10*time.Minute)
	informer := factory.ForResource(reports).Informer()
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    show,
		UpdateFunc: func(_, object any) { show(object) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return ctx.Err()
	}
	fmt.Printf("%d reports\n", len(informer.GetStore().ListKeys()))
	if !*once {
		<-ctx.Done()
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
