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

// createUnder measures creates while objects of admission are there. The probe says whether they hold; they are removed afterwards.
func (c *Config) createUnder(conc int, arrange func(s *Server) (made []string, probe func() error, err error)) func(*Server) Result {
	return func(s *Server) Result {
		made, probe, err := arrange(s)
		defer func() {
			for _, path := range made {
				_, _ = s.call("DELETE", path, nil)
			}
		}()
		if err == nil {
			err = poll(admissionDelay, probe)
		}
		if err != nil {
			return failed(err)
		}
		return c.create(conc)(s)
	}
}

// policies makes n policies of three validations each with their bindings; the last one alone is about the data set, and refuses the name
// of a probe.
func policies(n int) func(s *Server) ([]string, func() error, error) {
	return func(s *Server) (made []string, probe func() error, err error) {
		post := func(resource, name, body string) {
			if err == nil {
				_, err = s.call("POST", admPath+resource, []byte(body))
				made = append(made, admPath+resource+"/"+name)
			}
		}
		for i := range n {
			name, resource := fmt.Sprintf("bench-%03d", i), fmt.Sprintf("others%d", i)
			if i == n-1 {
				resource = "benches"
			}
			post("validatingadmissionpolicies", name, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicy","metadata":{"name":%q},"spec":{"failurePolicy":"Fail",`+
				`"matchConstraints":{"resourceRules":[{"apiGroups":["bench.example.com"],"apiVersions":["v1"],"operations":["CREATE","UPDATE"],"resources":[%q]}]},`+
				`"validations":[{"expression":"object.metadata.name != 'probe'"},`+
				`{"expression":"has(object.metadata.labels) && 'bucket' in object.metadata.labels && object.metadata.labels['bucket'] != ''","message":"a bucket is needed"},`+
				`{"expression":"object.spec.results.all(r, r.severity in ['low', 'medium', 'high'])","messageExpression":"'severities of ' + object.metadata.name"}]}}`, name, resource))
			post("validatingadmissionpolicybindings", name, fmt.Sprintf(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingAdmissionPolicyBinding","metadata":{"name":%q},"spec":{"policyName":%[1]q,"validationActions":["Deny"]}}`, name))
		}
		return made, func() error {
			if _, err := s.probe(); err == nil || !strings.Contains(err.Error(), "denied request") {
				return fmt.Errorf("the policy does not hold: %w", err)
			}
			return nil
		}, err
	}
}

// probe is a create that changes nothing.
func (s *Server) probe() ([]byte, error) {
	return s.call("POST", nsPath(scratch)+"?dryRun=All", object(scratch, "probe", "probe", 0, 1200))
}

// mutatingWebhook is one webhook, answered by this program, that adds a label.
func mutatingWebhook(s *Server) (made []string, probe func() error, err error) {
	url, ca, err := serveHook()
	if err != nil {
		return nil, nil, err
	}
	const resource, name = "mutatingwebhookconfigurations", "bench"
	_, err = s.call("POST", admPath+resource, fmt.Appendf(nil, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","metadata":{"name":%q},"webhooks":[{"name":"hook.bench.example.com",`+
		`"clientConfig":{"url":%q,"caBundle":%q},"sideEffects":"None","admissionReviewVersions":["v1"],"failurePolicy":"Fail",`+
		`"rules":[{"apiGroups":["bench.example.com"],"apiVersions":["v1"],"operations":["CREATE"],"resources":["benches"]}]}]}`, name, url, ca))
	return []string{admPath + resource + "/" + name}, func() error {
		body, err := s.probe()
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
