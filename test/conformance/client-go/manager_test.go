package conformance

import (
	"context"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const cleanup = "conformance.example.com/cleanup"

// reconciler keeps a config map beside each widget, tells the widget's status of it, and lets a deleted widget go.
type reconciler struct{ client.Client }

func newWidget() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(widgets.GroupVersion().WithKind("Widget"))
	return object
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	object := newWidget()
	if err := r.Get(ctx, request.NamespacedName, object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if object.GetDeletionTimestamp() != nil {
		before := object.DeepCopy()
		if !controllerutil.RemoveFinalizer(object, cleanup) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, client.IgnoreNotFound(r.Patch(ctx, object, client.MergeFrom(before)))
	}
	if controllerutil.AddFinalizer(object, cleanup) {
		return ctrl.Result{}, r.Update(ctx, object)
	}
	color, _, _ := unstructured.NestedString(object.Object, "spec", "color")
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: "of-" + request.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, config, func() error {
		config.Data = map[string]string{"color": color}
		return controllerutil.SetControllerReference(object, config, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if seen, _, _ := unstructured.NestedInt64(object.Object, "status", "seen"); seen == object.GetGeneration() {
		return ctrl.Result{}, nil
	}
	_ = unstructured.SetNestedField(object.Object, object.GetGeneration(), "status", "seen")
	return ctrl.Result{}, r.Status().Update(ctx, object)
}

func TestControllerRuntimeManager(t *testing.T) {
	log.SetLogger(logr.Discard())
	s := startServer(t)
	installWidgets(t, s)
	manager, err := ctrl.NewManager(s.config(t), ctrl.Options{
		Metrics:                 metrics.Options{BindAddress: "0"},
		LeaderElection:          true,
		LeaderElectionID:        "conformance",
		LeaderElectionNamespace: "default",
	})
	if err != nil {
		t.Fatal(err)
	}
	err = ctrl.NewControllerManagedBy(manager).For(newWidget()).Owns(&corev1.ConfigMap{}).Complete(&reconciler{manager.GetClient()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	direct := must[client.Client](t)(client.New(s.config(t), client.Options{}))
	key := client.ObjectKey{Namespace: "default", Name: "a"}
	configKey := client.ObjectKey{Namespace: "default", Name: "of-a"}
	colorIs := func(color string) func() bool {
		return func() bool {
			config := &corev1.ConfigMap{}
			return direct.Get(ctx, configKey, config) == nil && config.Data["color"] == color
		}
	}
	if err := direct.Create(ctx, widget("a", "red")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the config map is there", colorIs("red"))
	s.restart(t, syscall.SIGTERM)
	object := newWidget()
	if err := direct.Get(ctx, key, object); err != nil {
		t.Fatal(err)
	}
	_ = unstructured.SetNestedField(object.Object, "blue", "spec", "color")
	err = direct.Patch(ctx, object, client.MergeFrom(newWidget()))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the config map follows", colorIs("blue"))
	if err := direct.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "of-a"}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the config map is made again", colorIs("blue"))
	if err := direct.Delete(ctx, object); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the widget and what it owns go", func() bool {
		return apierrors.IsNotFound(direct.Get(ctx, key, newWidget())) && apierrors.IsNotFound(direct.Get(ctx, configKey, &corev1.ConfigMap{}))
	})
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
