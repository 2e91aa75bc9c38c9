package conformance

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	applycore "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"
)

func TestDynamicClient(t *testing.T) {
	s := startServer(t)
	installWidgets(t, s)
	client := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(s.config(t)))
	objects := client.Resource(widgets).Namespace("default")
	object := must[*unstructured.Unstructured](t)
	made := object(objects.Create(t.Context(), widget("a", "red"), metav1.CreateOptions{}))
	if made.GetUID() == "" || made.GetGeneration() != 1 {
		t.Fatalf("created without uid or generation: %v", made)
	}
	if _, err := objects.Create(t.Context(), widget("a", "red"), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Fatalf("expected AlreadyExists, got %v", err)
	}
	patched := object(objects.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"size":2}}`), metav1.PatchOptions{}))
	if size, _, _ := unstructured.NestedInt64(patched.Object, "spec", "size"); size != 2 || patched.GetGeneration() != 2 {
		t.Fatalf("patched to %v", patched)
	}
	if _, err := objects.Update(t.Context(), made, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Fatalf("expected Conflict, got %v", err)
	}
	_ = unstructured.SetNestedField(patched.Object, int64(5), "status", "seen")
	withStatus := object(objects.UpdateStatus(t.Context(), patched, metav1.UpdateOptions{}))
	if withStatus.GetGeneration() != 2 {
		t.Fatalf("a status changes no generation: %v", withStatus)
	}
	applied := object(objects.Apply(t.Context(), "b", widget("b", "blue"), metav1.ApplyOptions{FieldManager: "test"}))
	if len(applied.GetManagedFields()) != 1 {
		t.Fatalf("managed fields: %v", applied.GetManagedFields())
	}
	_, err := objects.Apply(t.Context(), "b", widget("b", "green"), metav1.ApplyOptions{FieldManager: "other"})
	if !apierrors.IsConflict(err) {
		t.Fatalf("expected a conflict of managers, got %v", err)
	}
	selected, err := objects.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.color=blue"})
	if err != nil || len(selected.Items) != 1 || selected.Items[0].GetName() != "b" {
		t.Fatalf("selected %v, %v", selected, err)
	}
	if err := objects.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := objects.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("expected NotFound, got %v", err)
	}
}

func TestTypedClientInProtobuf(t *testing.T) {
	s := startServer(t)
	maps := s.typed(t).CoreV1().ConfigMaps("default")
	object := must[*corev1.ConfigMap](t)
	made := object(maps.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "settings"},
		Data:       map[string]string{"a": "1"},
		BinaryData: map[string][]byte{"b": {0, 255}},
	}, metav1.CreateOptions{}))
	watcher, err := maps.Watch(t.Context(), metav1.ListOptions{ResourceVersion: made.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	object(maps.Patch(t.Context(), "settings", types.StrategicMergePatchType, []byte(`{"data":{"c":"3"}}`), metav1.PatchOptions{}))
	object(maps.Apply(t.Context(), applycore.ConfigMap("settings", "default").WithData(map[string]string{"d": "4"}), metav1.ApplyOptions{FieldManager: "applier"}))
	s.restart(t, syscall.SIGKILL)
	read := object(maps.Get(t.Context(), "settings", metav1.GetOptions{}))
	if fmt.Sprint(read.Data, read.BinaryData) != "map[a:1 c:3 d:4] map[b:[0 255]]" {
		t.Fatalf("after a restart: %v %v", read.Data, read.BinaryData)
	}
	for _, want := range []string{"a:1 c:3", "a:1 c:3 d:4"} {
		event := <-watcher.ResultChan()
		seen, ok := event.Object.(*corev1.ConfigMap)
		if event.Type != watch.Modified || !ok || fmt.Sprint(seen.Data) != "map["+want+"]" {
			t.Fatalf("expected %s, got %v", want, event)
		}
	}
}

func TestMetadataClientAndPages(t *testing.T) {
	s := startServer(t)
	installWidgets(t, s)
	writer := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(s.config(t))).Resource(widgets).Namespace("default")
	const count = 25
	for i := range count {
		if _, err := writer.Create(t.Context(), widget(fmt.Sprintf("w-%02d", i), "red"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	client, err := metadata.NewForConfig(s.config(t))
	if err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(widgets).Namespace("default")
	pages := 0
	lister := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		pages++
		if pages == 2 {
			s.restart(t, syscall.SIGTERM)
		}
		return objects.List(t.Context(), options)
	}))
	lister.PageSize = 10
	var names []string
	err = lister.EachListItem(t.Context(), metav1.ListOptions{}, func(object runtime.Object) error {
		names = append(names, object.(*metav1.PartialObjectMetadata).Name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != count || pages != 3 || names[count-1] != "w-24" {
		t.Fatalf("%d names on %d pages: %v", len(names), pages, names)
	}
	one, err := objects.List(t.Context(), metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", "w-07").String()})
	if err != nil || len(one.Items) != 1 {
		t.Fatalf("%v, %v", one, err)
	}
}

// patientBackoff has more attempts than any writer among a few can lose.
var patientBackoff = wait.Backoff{Steps: 50, Duration: 5 * time.Millisecond, Factor: 1.2, Jitter: 1, Cap: time.Second}

func TestRetryOnConflict(t *testing.T) {
	s := startServer(t)
	installWidgets(t, s)
	objects := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(s.config(t))).Resource(widgets).Namespace("default")
	if _, err := objects.Create(t.Context(), widget("counter", "red"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const writers, each = 4, 10
	failures := make(chan error, writers)
	for range writers {
		go func() {
			for range each {
				err := retry.RetryOnConflict(patientBackoff, func() error {
					current, err := objects.Get(t.Context(), "counter", metav1.GetOptions{})
					if err != nil {
						return err
					}
					size, _, _ := unstructured.NestedInt64(current.Object, "spec", "size")
					_ = unstructured.SetNestedField(current.Object, size+1, "spec", "size")
					_, err = objects.Update(t.Context(), current, metav1.UpdateOptions{})
					return err
				})
				if err != nil {
					failures <- err
					return
				}
			}
			failures <- nil
		}()
	}
	for range writers {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
	last, err := objects.Get(t.Context(), "counter", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if size, _, _ := unstructured.NestedInt64(last.Object, "spec", "size"); !t.Failed() && size != 1+writers*each {
		t.Fatalf("%d after %d increments", size, writers*each)
	}
}
