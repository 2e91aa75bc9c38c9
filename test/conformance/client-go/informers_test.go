package conformance

import (
	"context"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// gates switches the streaming list of reflectors on or off, and leaves all else as it is by default.
type gates struct {
	clientfeatures.Gates
	watchList bool
}

func (g gates) Enabled(feature clientfeatures.Feature) bool {
	if feature == clientfeatures.WatchListClient {
		return g.watchList
	}
	return g.Gates.Enabled(feature)
}

func TestInformers(t *testing.T) {
	before := clientfeatures.FeatureGates()
	defer clientfeatures.ReplaceFeatureGates(before)
	for name, watchList := range map[string]bool{"list, then watch": false, "streaming list": true} {
		t.Run(name, func(t *testing.T) {
			clientfeatures.ReplaceFeatureGates(gates{before, watchList})
			informerFollows(t)
		})
	}
}

// informerFollows checks that an informer's store is what the server has, through restarts of the server.
func informerFollows(t *testing.T) {
	s := startServer(t)
	installWidgets(t, s)
	client := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(s.config(t)))
	objects := client.Resource(widgets).Namespace("default")
	for i := range 20 {
		if _, err := objects.Create(t.Context(), widget(fmt.Sprintf("w-%02d", i), "red"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	informer := factory.ForResource(widgets).Informer()
	var deleted, unexpected atomic.Int32
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		DeleteFunc: func(object any) { deleted.Add(1) },
		UpdateFunc: func(old, now any) {
			if old.(*unstructured.Unstructured).GetUID() != now.(*unstructured.Unstructured).GetUID() {
				unexpected.Add(1)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if count := len(informer.GetStore().ListKeys()); count != 20 {
		t.Fatalf("synced with %d objects", count)
	}
	for round, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		s.restart(t, signal)
		name := fmt.Sprintf("w-%02d", round)
		if err := objects.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := objects.Create(t.Context(), widget(fmt.Sprintf("new-%d", round), "blue"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the informer sees what happened", func() bool {
			_, gone, _ := informer.GetStore().GetByKey("default/" + name)
			_, here, _ := informer.GetStore().GetByKey(fmt.Sprintf("default/new-%d", round))
			return !gone && here
		})
	}
	list, err := objects.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		object, found, _ := informer.GetStore().GetByKey("default/" + item.GetName())
		if !found || object.(*unstructured.Unstructured).GetResourceVersion() != item.GetResourceVersion() {
			t.Errorf("%s differs from the server's", item.GetName())
		}
	}
	if deleted.Load() != 2 || unexpected.Load() != 0 {
		t.Errorf("%d deletions, %d exchanged objects", deleted.Load(), unexpected.Load())
	}
}

func TestLeaderElection(t *testing.T) {
	s := startServer(t)
	var leader atomic.Value
	leader.Store("")
	stops := map[string]context.CancelFunc{}
	for _, name := range []string{"one", "two"} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stops[name] = cancel
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{
				LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "leader"},
				Client:     s.typed(t).CoordinationV1(),
				LockConfig: resourcelock.ResourceLockConfig{Identity: name},
			},
			ReleaseOnCancel: true,
			// A restart may take its time on a busy machine.
			LeaseDuration: 60 * time.Second,
			RenewDeadline: 50 * time.Second,
			RetryPeriod:   500 * time.Millisecond,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { leader.Store(name) },
				OnStoppedLeading: func() { leader.CompareAndSwap(name, "") },
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		go elector.Run(ctx)
	}
	eventually(t, "there is a leader", func() bool { return leader.Load() != "" })
	first := leader.Load().(string)
	s.restart(t, syscall.SIGKILL)
	time.Sleep(2 * time.Second)
	if leader.Load() != first {
		t.Fatalf("a restart of the server cost %s the lead", first)
	}
	stops[first]()
	eventually(t, "the other one leads", func() bool { now := leader.Load(); return now != "" && now != first })
}
