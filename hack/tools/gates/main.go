// Command gates writes the feature gates of k8s.io/apiserver and k8s.io/component-base as JSON: their stages, oldest first.
//
//	go run ./gates > ../../data/gates.json
package main

import (
	"encoding/json"
	"os"

	_ "k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	metricsfeatures "k8s.io/component-base/metrics/features"
	zpagesfeatures "k8s.io/component-base/zpages/features"
)

type state struct {
	Since   string `json:"since"`
	Stage   string `json:"stage"`
	Default bool   `json:"default"`
	Locked  bool   `json:"locked,omitempty"`
}

func main() {
	gates := utilfeature.DefaultMutableFeatureGate
	must(zpagesfeatures.AddFeatureGates(gates))
	must(metricsfeatures.AddFeatureGates(gates))
	out := map[string][]state{}
	for name, specs := range gates.GetAllVersioned() {
		if name == "AllAlpha" || name == "AllBeta" {
			continue
		}
		for _, s := range specs {
			out[string(name)] = append(out[string(name)], state{Since: s.Version.String(), Stage: stage(s), Default: s.Default, Locked: s.LockToDefault})
		}
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	must(encoder.Encode(out))
}

func stage(s featuregate.FeatureSpec) string {
	if s.PreRelease == featuregate.GA {
		return "GA"
	}
	return string(s.PreRelease)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
