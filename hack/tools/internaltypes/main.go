// Command internaltypes writes the shapes of Kubernetes' unversioned Go types whose differences refused updates show:
// what their members are called when Go's encoder writes them, and where a v1 object has each of them.
//
//	go run ./internaltypes > ../../data/types/internal.json
package main

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/apis/certificates"
	"k8s.io/kubernetes/pkg/apis/core"
)

type field struct {
	// Name in the encoded unversioned object.
	Name string `json:"n"`
	// Names in the v1 object, from the outermost.
	Path      []string `json:"p"`
	Type      int      `json:"t"`
	OmitEmpty bool     `json:"o,omitempty"`
}

type shape struct {
	// struct, map, slice, ptr, string, bool, number or custom (with an encoder of its own).
	Kind   string  `json:"k"`
	Elem   *int    `json:"e,omitempty"`
	Zero   any     `json:"z,omitempty"`
	Fields []field `json:"f,omitempty"`
}

type pair struct{ internal, versioned reflect.Type }

var (
	shapes    []*shape
	seen      = map[pair]int{}
	marshaler = reflect.TypeOf((*json.Marshaler)(nil)).Elem()
)

func deref(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func elemOf(t reflect.Type) reflect.Type {
	if t = deref(t); t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		return t.Elem()
	}
	return nil
}

func add(t, v reflect.Type) int {
	if i, ok := seen[pair{t, v}]; ok {
		return i
	}
	i := len(shapes)
	seen[pair{t, v}] = i
	s := &shape{}
	shapes = append(shapes, s)
	elem := func(e, w reflect.Type) { n := add(e, w); s.Elem = &n }
	switch {
	case t.Kind() != reflect.Pointer && (t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)):
		s.Kind = "custom"
		text, err := json.Marshal(reflect.New(t).Interface())
		must(err)
		must(json.Unmarshal(text, &s.Zero))
	case t.Kind() == reflect.Struct:
		s.Kind = "struct"
		s.Fields = fields(t, places(deref(v), nil))
	case t.Kind() == reflect.Pointer:
		s.Kind = "ptr"
		elem(t.Elem(), v)
	case t.Kind() == reflect.Slice, t.Kind() == reflect.Map:
		s.Kind = t.Kind().String()
		elem(t.Elem(), elemOf(v))
	case t.Kind() == reflect.String, t.Kind() == reflect.Bool:
		s.Kind = t.Kind().String()
	default:
		s.Kind = "number"
	}
	return i
}

type place struct {
	path []string
	t    reflect.Type
}

// places of a v1 struct's members by their Go names; members of embedded structs are its own.
func places(t reflect.Type, prefix []string) map[string]place {
	all := map[string]place{}
	if t == nil || t.Kind() != reflect.Struct {
		return all
	}
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		name := strings.Split(f.Tag.Get("json"), ",")[0]
		path := append([]string{}, prefix...)
		if name != "" {
			path = append(path, name)
		}
		if f.Anonymous {
			for inner, p := range places(deref(f.Type), path) {
				all[inner] = p
			}
			continue
		}
		all[f.Name] = place{path, f.Type}
	}
	return all
}

func fields(t reflect.Type, from map[string]place) []field {
	var all []field
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		parts := strings.Split(f.Tag.Get("json"), ",")
		name := parts[0]
		if name == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			all = append(all, fields(deref(f.Type), from)...)
			continue
		}
		if name == "" {
			name = f.Name
		}
		p, ok := from[f.Name]
		if !ok {
			// A member that v1 has elsewhere; whoever uses the shape puts it here.
			p = place{[]string{lowerFirst(f.Name)}, f.Type}
		}
		one := field{Name: name, Path: p.path, Type: add(f.Type, p.t)}
		for _, option := range parts[1:] {
			one.OmitEmpty = one.OmitEmpty || option == "omitempty" || option == "omitzero"
		}
		all = append(all, one)
	}
	return all
}

func lowerFirst(s string) string {
	r := []rune(s)
	r[0] = unicode.ToLower(r[0])
	return string(r)
}

func main() {
	roots := map[string]int{}
	types := map[string][2]any{
		"PodSpec":                             {core.PodSpec{}, corev1.PodSpec{}},
		"PersistentVolumeSource":              {core.PersistentVolumeSource{}, corev1.PersistentVolumeSource{}},
		"PersistentVolumeClaimSpec":           {core.PersistentVolumeClaimSpec{}, corev1.PersistentVolumeClaimSpec{}},
		"PersistentVolumeClaim":               {core.PersistentVolumeClaim{}, corev1.PersistentVolumeClaim{}},
		"CertificateSigningRequestConditions": {[]certificates.CertificateSigningRequestCondition{}, []certificatesv1.CertificateSigningRequestCondition{}},
	}
	// In a fixed order, because the shapes are numbered in the order of their visit.
	for _, name := range slices.Sorted(maps.Keys(types)) {
		roots[name] = add(reflect.TypeOf(types[name][0]), reflect.TypeOf(types[name][1]))
	}
	must(json.NewEncoder(os.Stdout).Encode(map[string]any{"shapes": shapes, "roots": roots}))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
