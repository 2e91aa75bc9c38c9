package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"time"
)

const (
	admPath = "/apis/admissionregistration.k8s.io/v1/"
	// What admission is slow to learn of is waited for this long.
	admissionDelay = time.Minute
	hookPatch      = `[{"op":"add","path":"/metadata/labels/hooked","value":"yes"}]`
)

// Arrangement makes objects of admission and returns their paths; the probe says whether they hold.
type arrangement func(s *Server) (made []string, probe func() error, err error)

// createUnder measures creates while objects of admission are there. They are removed afterwards.
func (c *Config) createUnder(conc int, arrange arrangement) func(*Server) Result {
	return func(s *Server) (r Result) {
		err := s.under(arrange, func() { r = c.create(conc)(s) })
		r.fail(err)
		return r
	}
}

// createCost measures creates in turns with objects of admission and without, in an order that drifts of the machine do not favour.
// The value is the ratio of both sums of CPU: 1.15 means that admission makes a create 15 % more expensive.
func (c *Config) createCost(conc int, arrange arrangement) func(*Server) Result {
	return func(s *Server) (sum Result) {
		const pairs = 4
		part := *c
		part.N = max(c.N/pairs, 1)
		var cpu, peak [2]float64
		errors := 0
		measure := func(i int) {
			r := part.create(conc)(s)
			cpu[i] += r.CPU
			peak[i] = max(peak[i], r.PeakRSS)
			errors += r.Errors
			r.CPU, r.Errors, sum = sum.CPU, sum.Errors, r
		}
		for i := range 2 * pairs {
			// Without, with, with, without.
			if i%4 == 0 || i%4 == 3 {
				measure(0)
			} else if err := s.under(arrange, func() { measure(1) }); err != nil {
				return failed(err)
			}
		}
		sum.Metric, sum.Value, sum.Errors = "cpu with/without", cpu[1]/cpu[0], errors
		sum.CPU, sum.CPUPerOp, sum.PeakRSS = cpu[1], cpu[1]*1000/float64(pairs*part.N), peak[1]
		return sum
	}
}

// under runs something while objects of admission hold. They have no effect when it returns.
func (s *Server) under(arrange arrangement, run func()) error {
	made, probe, err := arrange(s)
	if err == nil {
		err = poll(admissionDelay, probe)
	}
	if err == nil {
		run()
	}
	for _, path := range made {
		_, _ = s.call("DELETE", path, nil)
	}
	if err == nil {
		err = poll(admissionDelay, func() error {
			if probe() == nil {
				return errors.New("admission holds after it was removed")
			}
			return nil
		})
	}
	return err
}

// policies makes n policies of three validations each with their bindings; the last one alone is about a type that is there, the data set
// or configmaps, and refuses the name of a probe.
func policies(n int, last resource) arrangement {
	return func(s *Server) (made []string, probe func() error, err error) {
		post := func(plural, name, body string) {
			if err == nil {
				_, err = s.call("POST", admPath+plural, []byte(body))
				made = append(made, admPath+plural+"/"+name)
			}
		}
		for i := range n {
			name, about := fmt.Sprintf("bench-%03d", i), resource{benches.group, fmt.Sprintf("others%d", i)}
			if i == n-1 {
				about = last
			}
			post("validatingadmissionpolicies", name, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":%q},"spec":{"failurePolicy":"Fail",`+
				`"matchConstraints":{"resourceRules":[{"apiGroups":[%q],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":[%q]}]},`+
				`"validations":[{"expression":"object.metadata.name != 'probe'"},`+
				`{"expression":"has(object.metadata.labels) && 'bucket' in object.metadata.labels && object.metadata.labels['bucket'] != ''","message":"a bucket is needed"},`+
				`{"expression":"object.spec.results.all(r, r.severity in ['low', 'medium', 'high'])","messageExpression":"'severities of ' + object.metadata.name"}]}}`, name, about.group, about.resource))
			post("validatingadmissionpolicybindings", name, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":%q},"spec":{"policyName":%[1]q,"validationActions":["Deny"]}}`, name))
		}
		return made, func() error {
			if _, err := s.probe(last); err == nil || !strings.Contains(err.Error(), "denied request") {
				return fmt.Errorf("the policy does not hold: %w", err)
			}
			return nil
		}, err
	}
}

type resource struct{ group, resource string }

var (
	benches    = resource{"bench.example.com", "benches"}
	configMaps = resource{"", "configmaps"}
)

// probe is a create that changes nothing.
func (s *Server) probe(of resource) ([]byte, error) {
	if of == configMaps {
		return s.call("POST", "/api/v1/namespaces/"+scratch+"/configmaps?dryRun=All", []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"probe"}}`))
	}
	return s.call("POST", nsPath(scratch)+"?dryRun=All", object(scratch, "probe", "probe", 0, 1200))
}

// mutatingWebhook is one webhook, answered by this program, that adds a label.
func mutatingWebhook(s *Server) (made []string, probe func() error, err error) {
	url, ca, err := serveHook()
	if err != nil {
		return nil, nil, err
	}
	const plural, name = "mutatingwebhookconfigurations", "bench"
	_, err = s.call("POST", admPath+plural, fmt.Appendf(nil, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":%q},"webhooks":[{"name":"hook.bench.example.com",`+
		`"clientConfig":{"url":%q,"caBundle":%q},"sideEffects":"None","admissionReviewVersions":["v1"],"failurePolicy":"Fail",`+
		`"rules":[{"apiGroups":["bench.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["benches"]}]}]}`, name, url, ca))
	return []string{admPath + plural + "/" + name}, func() error {
		body, err := s.probe(benches)
		if err == nil && !bytes.Contains(body, []byte("hooked")) {
			err = fmt.Errorf("the webhook is not asked: %.200s", body)
		}
		return err
	}, err
}

var hook struct{ url, ca string }

// serveHook answers reviews on loopback until the program ends; it returns the address and the caBundle.
func serveHook() (string, string, error) {
	if hook.url != "" {
		return hook.url, hook.ca, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return "", "", err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return "", "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", "", err
	}
	server := &http.Server{Handler: http.HandlerFunc(answerReview), TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}}}}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	hook.url = "https://" + listener.Addr().String() + "/mutate"
	hook.ca = base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
	return hook.url, hook.ca, nil
}

func answerReview(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,"allowed":true,"patchType":"JSONPatch","patch":%q}}`,
		review.Request.UID, base64.StdEncoding.EncodeToString([]byte(hookPatch)))
}
