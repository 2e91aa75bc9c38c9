// Command gotypes writes the shapes of the built-in Go types as JSON: what their struct tags say about JSON names,
// omitted zero values and strategic merge patches, and what their types are called in decoding errors.
//
//	go run ./gotypes > ../../data/types/types.json
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"sort"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

type field struct {
	Name      string `json:"n"`
	Type      int    `json:"t"`
	OmitEmpty bool   `json:"o,omitempty"`
	OmitZero  bool   `json:"z,omitempty"`
	Strategy  string `json:"ps,omitempty"`
	MergeKey  string `json:"pk,omitempty"`
	// Go names of the structs that it is embedded by, which decoding errors name.
	Embedded []string `json:"em,omitempty"`
}

type goType struct {
	// struct, map, slice, ptr, bytes, custom, interface, or the name of a scalar kind.
	Kind   string  `json:"k"`
	String string  `json:"s"`
	Name   string  `json:"n,omitempty"`
	Elem   *int    `json:"e,omitempty"`
	Fields []field `json:"f,omitempty"`
}

type output struct {
	Types []*goType      `json:"types"`
	Kinds map[string]int `json:"kinds"`
}

var (
	out         = output{Kinds: map[string]int{}}
	seen        = map[reflect.Type]int{}
	unmarshaler = reflect.TypeOf((*json.Unmarshaler)(nil)).Elem()
)

func add(t reflect.Type) int {
	if i, ok := seen[t]; ok {
		return i
	}
	i := len(out.Types)
	seen[t] = i
	g := &goType{String: t.String(), Name: t.Name()}
	out.Types = append(out.Types, g)
	elem := func(e reflect.Type) { n := add(e); g.Elem = &n }
	switch {
	case t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(unmarshaler):
		g.Kind = "custom"
	case t.Kind() == reflect.Struct:
		g.Kind = "struct"
		g.Fields = fields(t)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		g.Kind = "bytes"
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Map, t.Kind() == reflect.Pointer:
		g.Kind = map[reflect.Kind]string{reflect.Slice: "slice", reflect.Map: "map", reflect.Pointer: "ptr"}[t.Kind()]
		elem(t.Elem())
	default:
		g.Kind = t.Kind().String()
	}
	return i
}

func fields(t reflect.Type) []field {
	var all []field
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		parts := strings.Split(f.Tag.Get("json"), ",")
		name := parts[0]
		if name == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if f.Anonymous && name == "" {
			e := f.Type
			if e.Kind() == reflect.Pointer {
				e = e.Elem()
			}
			for _, inner := range fields(e) {
				inner.Embedded = append([]string{f.Name}, inner.Embedded...)
				all = append(all, inner)
			}
			continue
		}
		if name == "" {
			name = f.Name
		}
		n := field{Name: name, Type: add(f.Type), Strategy: f.Tag.Get("patchStrategy"), MergeKey: f.Tag.Get("patchMergeKey")}
		for _, p := range parts[1:] {
			n.OmitEmpty = n.OmitEmpty || p == "omitempty"
			n.OmitZero = n.OmitZero || p == "omitzero"
		}
		all = append(all, n)
	}
	return all
}

func main() {
	s := scheme.Scheme
	must(apiextensionsv1.AddToScheme(s))
	must(apiregistrationv1.AddToScheme(s))
	groups := []schema.GroupVersion{
		{Version: "v1"},
		{Group: "admissionregistration.k8s.io", Version: "v1"},
		{Group: "admissionregistration.k8s.io", Version: "v1beta1"},
		{Group: "admissionregistration.k8s.io", Version: "v1alpha1"},
		{Group: "apiextensions.k8s.io", Version: "v1"},
		{Group: "apiregistration.k8s.io", Version: "v1"},
		{Group: "authentication.k8s.io", Version: "v1"},
		{Group: "authorization.k8s.io", Version: "v1"},
		{Group: "autoscaling", Version: "v1"},
		{Group: "certificates.k8s.io", Version: "v1"},
		{Group: "coordination.k8s.io", Version: "v1"},
		{Group: "events.k8s.io", Version: "v1"},
		{Group: "policy", Version: "v1"},
		{Group: "rbac.authorization.k8s.io", Version: "v1"},
		{Group: "storage.k8s.io", Version: "v1"},
	}
	var names []string
	types := map[string]reflect.Type{}
	for _, gv := range groups {
		for kind, t := range s.KnownTypes(gv) {
			if strings.HasPrefix(t.PkgPath(), "k8s.io/apimachinery/") && kind != "List" {
				continue
			}
			key := gv.String() + "/" + kind
			names = append(names, key)
			types[key] = t
		}
	}
	for _, o := range []any{metav1.DeleteOptions{}, metav1.CreateOptions{}, metav1.UpdateOptions{}, metav1.PatchOptions{}, metav1.ListOptions{}, metav1.Status{}, metav1.ObjectMeta{}, metav1.LabelSelector{}, metav1.PartialObjectMetadata{}, metav1.PartialObjectMetadataList{}, runtime.TypeMeta{}} {
		t := reflect.TypeOf(o)
		key := "meta.k8s.io/v1/" + t.Name()
		names = append(names, key)
		types[key] = t
	}
	sort.Strings(names)
	for _, n := range names {
		out.Kinds[n] = add(types[n])
	}
	must(json.NewEncoder(os.Stdout).Encode(out))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
