// Package conformance drives Annex with the Go clients that controllers are written with.
package conformance

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	crdclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Of a busy machine.
const patience = 2 * time.Minute

// server is an Annex process with a data folder and a port that outlive it.
type server struct {
	dir     string
	port    int
	flags   []string
	process *exec.Cmd
}

// startServer starts an Annex that is stopped, and its data removed, when the test ends.
func startServer(t *testing.T, flags ...string) *server {
	t.Helper()
	program := os.Getenv("ANNEX_MAIN")
	if program == "" {
		t.Skip("ANNEX_MAIN does not name the program: run this with make conformance-go")
	}
	s := &server{dir: t.TempDir(), port: freePort(t), flags: flags}
	s.start(t)
	t.Cleanup(func() { s.stop(syscall.SIGKILL) })
	return s
}

func freePort(t *testing.T) int {
	t.Helper()
	// Below those that outgoing connections get: none of them has it while the server is away.
	const from, count = 12_000, 20_000
	for i := range count {
		port := from + (os.Getpid()*37+i)%count
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		_ = listener.Close()
		return port
	}
	t.Fatal("there is no free port")
	return 0
}

func (s *server) start(t *testing.T) {
	t.Helper()
	arguments := []string{
		os.Getenv("ANNEX_MAIN"), "serve", "--data-dir", s.dir, "--bind-address", "127.0.0.1",
		"--secure-port", fmt.Sprint(s.port), "--feature-gates=WatchList=true",
	}
	arguments = append(arguments, s.flags...)
	arguments = append(arguments, strings.Fields(os.Getenv("ANNEX_FLAGS"))...)
	s.process = exec.Command("node", arguments...)
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	probe := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	eventually(t, "the server is ready", func() bool {
		answer, err := probe.Get(fmt.Sprintf("https://127.0.0.1:%d/readyz", s.port))
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

func (s *server) stop(signal syscall.Signal) {
	_ = s.process.Process.Signal(signal)
	_ = s.process.Wait()
}

// restart ends the process with the signal and starts it anew on the same data and port.
func (s *server) restart(t *testing.T, signal syscall.Signal) {
	t.Helper()
	s.stop(signal)
	s.start(t)
}

func (s *server) config(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", filepath.Join(s.dir, "admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 1000, 1000
	return config
}

// typed is a client of the built-in types that speaks Protobuf.
func (s *server) typed(t *testing.T) kubernetes.Interface {
	t.Helper()
	config := rest.CopyConfig(s.config(t))
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("%s: not within %s", what, patience)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

var widgets = schema.GroupVersionResource{Group: "conformance.example.com", Version: "v1", Resource: "widgets"}

// installWidgets defines the custom type that tests use, and waits until it is served.
func installWidgets(t *testing.T, s *server) {
	t.Helper()
	client := must[*crdclient.Clientset](t)(crdclient.NewForConfig(s.config(t)))
	text := apiextensions.JSONSchemaProps{Type: "string"}
	number := apiextensions.JSONSchemaProps{Type: "integer"}
	spec := apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"color": text, "size": number}}
	status := apiextensions.JSONSchemaProps{Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"seen": number}}
	definition := &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + widgets.Group},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: widgets.Group,
			Scope: apiextensions.NamespaceScoped,
			Names: apiextensions.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget", ListKind: "WidgetList"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Subresources:     &apiextensions.CustomResourceSubresources{Status: &apiextensions.CustomResourceSubresourceStatus{}},
				SelectableFields: []apiextensions.SelectableField{{JSONPath: ".spec.color"}},
				Schema: &apiextensions.CustomResourceValidation{OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{"spec": spec, "status": status},
				}},
			}},
		},
	}
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the type is served", func() bool {
		_, err := client.Discovery().ServerResourcesForGroupVersion(widgets.GroupVersion().String())
		return err == nil
	})
}

func widget(name, color string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": widgets.GroupVersion().String(),
		"kind":       "Widget",
		"metadata":   map[string]any{"name": name, "namespace": "default"},
		"spec":       map[string]any{"color": color, "size": int64(1)},
	}}
}
