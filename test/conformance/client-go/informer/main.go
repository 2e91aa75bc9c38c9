// Command informer follows a resource as controllers do, and tells what it sees, a line of JSON each:
//
//	informer KUBECONFIG GROUP VERSION RESOURCE NAMESPACE
//
// It ends with its standard input, and tells last what its store holds and which requests it took.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

type line struct {
	Event   string   `json:"event"`
	Name    string   `json:"name,omitempty"`
	Version string   `json:"version,omitempty"`
	Keys    []string `json:"keys,omitempty"`
	// Requests of the whole run, by kind.
	Lists    int `json:"lists,omitempty"`
	Watches  int `json:"watches,omitempty"`
	Streamed int `json:"streamed,omitempty"`
}

type counter struct {
	next  http.RoundTripper
	mutex sync.Mutex
	line  line
}

func (c *counter) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	c.mutex.Lock()
	switch {
	case query.Get("watch") == "":
		c.line.Lists++
	case query.Get("sendInitialEvents") == "true":
		c.line.Streamed++
	default:
		c.line.Watches++
	}
	c.mutex.Unlock()
	return c.next.RoundTrip(request)
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "informer:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("usage: informer KUBECONFIG GROUP VERSION RESOURCE NAMESPACE")
	}
	config, err := clientcmd.BuildConfigFromFlags("", args[0])
	if err != nil {
		return err
	}
	requests := &counter{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		requests.next = next
		return requests
	})
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	var mutex sync.Mutex
	out := json.NewEncoder(os.Stdout)
	tell := func(l line) {
		mutex.Lock()
		defer mutex.Unlock()
		_ = out.Encode(l)
	}
	object := func(event string, value any) {
		if unknown, is := value.(cache.DeletedFinalStateUnknown); is {
			value = unknown.Obj
		}
		if o, is := value.(*unstructured.Unstructured); is {
			tell(line{Event: event, Name: o.GetName(), Version: o.GetResourceVersion()})
		}
	}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, args[4], nil)
	informer := factory.ForResource(schema.GroupVersionResource{Group: args[1], Version: args[2], Resource: args[3]}).Informer()
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { object("add", o) },
		UpdateFunc: func(_, o any) { object("update", o) },
		DeleteFunc: func(o any) { object("delete", o) },
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	tell(line{Event: "synced", Keys: keys(informer)})
	_, _ = io.Copy(io.Discard, os.Stdin)
	// What is on its way arrives.
	time.Sleep(200 * time.Millisecond)
	requests.mutex.Lock()
	end := requests.line
	requests.mutex.Unlock()
	end.Event, end.Keys = "end", keys(informer)
	tell(end)
	return nil
}

// keys are names with versions.
func keys(informer cache.SharedIndexInformer) []string {
	found := []string{}
	for _, value := range informer.GetStore().List() {
		o := value.(*unstructured.Unstructured)
		found = append(found, o.GetName()+"@"+o.GetResourceVersion())
	}
	sort.Strings(found)
	return found
}
