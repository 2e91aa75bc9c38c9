package conformance

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"testing"
	"time"

	certificates "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/certificate/csr"
	"k8s.io/client-go/util/keyutil"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"k8s.io/cluster-bootstrap/token/jws"
	bootstraputil "k8s.io/cluster-bootstrap/token/util"
)

// discover does what kubeadm join does with a token and the hash of a CA's public key: it reads cluster-info from a server
// that it does not know, checks the signature, finds the CA, and reads again what it now can trust.
func discover(ctx context.Context, endpoint, id, secret string, pin [sha256.Size]byte) (*rest.Config, error) {
	stranger := &rest.Config{Host: endpoint, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	content, err := clusterInfo(ctx, stranger, id, secret)
	if err != nil {
		return nil, err
	}
	found, err := clientcmd.Load([]byte(content))
	if err != nil {
		return nil, err
	}
	for _, cluster := range found.Clusters {
		authorities, err := certutil.ParseCertsPEM(cluster.CertificateAuthorityData)
		if err != nil {
			return nil, err
		}
		for _, authority := range authorities {
			if sha256.Sum256(authority.RawSubjectPublicKeyInfo) != pin {
				continue
			}
			trusting := &rest.Config{Host: cluster.Server}
			trusting.CAData = cluster.CertificateAuthorityData
			again, err := clusterInfo(ctx, trusting, id, secret)
			if err == nil && again != content {
				err = errors.New("cluster-info differs for those who know the CA")
			}
			return trusting, err
		}
	}
	return nil, errors.New("no CA with this public key")
}

func clusterInfo(ctx context.Context, config *rest.Config, id, secret string) (string, error) {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	info, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).Get(ctx, bootstrapapi.ConfigMapClusterInfo, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	content := info.Data[bootstrapapi.KubeConfigKey]
	signature, found := info.Data[bootstrapapi.JWSSignatureKeyPrefix+id]
	if !found {
		return "", errors.New("no signature")
	}
	if !jws.DetachedTokenIsValid(signature, content, id, secret) {
		return "", errors.New("wrong signature")
	}
	return content, nil
}

// allowBootstrap lets those who have a bootstrap token ask for a kubelet's certificate, which is approved by itself.
func allowBootstrap(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	subjects := []rbac.Subject{{Kind: "Group", APIGroup: rbac.GroupName, Name: bootstrapapi.BootstrapDefaultGroup}}
	for _, role := range []string{
		"system:node-bootstrapper", "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
	} {
		binding := &rbac.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "of-" + role}, Subjects: subjects}
		binding.RoleRef = rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: role}
		must[*rbac.ClusterRoleBinding](t)(client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}))
	}
}

// kubeletCertificate asks for a client certificate as a kubelet does, and waits for it.
func kubeletCertificate(t *testing.T, client kubernetes.Interface, node string) (certificate, key []byte) {
	t.Helper()
	private := must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	subject := pkix.Name{Organization: []string{"system:nodes"}, CommonName: "system:node:" + node}
	request := must[[]byte](t)(certutil.MakeCSR(private, &subject, nil, nil))
	usages := []certificates.KeyUsage{certificates.UsageDigitalSignature, certificates.UsageClientAuth}
	name, uid, err := csr.RequestCertificate(
		client, request, "node-csr-"+node, certificates.KubeAPIServerClientKubeletSignerName, nil, usages, crypto.Signer(private))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	certificate = must[[]byte](t)(csr.WaitForCertificate(ctx, client, name, uid))
	return certificate, must[[]byte](t)(keyutil.MarshalPrivateKeyToPEM(private))
}

// A host that knows a token and the hash of the CA's key becomes a node, by the functions of kubeadm and the kubelet.
func TestBootstrap(t *testing.T) {
	s := startServer(t, "--enable-bootstrap-token-auth", "--controllers=*,bootstrapsigner,tokencleaner")
	admin := s.typed(t)
	id, secret := "abcdef", "0123456789abcdef"
	token := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: bootstraputil.BootstrapTokenSecretName(id), Namespace: metav1.NamespaceSystem},
		Type:       bootstrapapi.SecretTypeBootstrapToken,
		StringData: map[string]string{
			bootstrapapi.BootstrapTokenIDKey:               id,
			bootstrapapi.BootstrapTokenSecretKey:           secret,
			bootstrapapi.BootstrapTokenExpirationKey:       time.Now().Add(time.Hour).UTC().Format(time.RFC3339),
			bootstrapapi.BootstrapTokenUsageSigningKey:     "true",
			bootstrapapi.BootstrapTokenUsageAuthentication: "true",
		},
	}
	must[*corev1.Secret](t)(admin.CoreV1().Secrets(metav1.NamespaceSystem).Create(t.Context(), token, metav1.CreateOptions{}))
	allowBootstrap(t, admin)
	config := s.config(t)
	authority, _ := pem.Decode(config.CAData)
	pin := sha256.Sum256(must[*x509.Certificate](t)(x509.ParseCertificate(authority.Bytes)).RawSubjectPublicKeyInfo)
	endpoint := fmt.Sprintf("https://127.0.0.1:%d", s.port)
	var joining *rest.Config
	eventually(t, "cluster-info is signed", func() bool {
		found, err := discover(t.Context(), endpoint, id, secret, pin)
		joining = found
		return err == nil
	})
	if _, err := discover(t.Context(), endpoint, id, "0000000000000000", pin); err == nil || err.Error() != "wrong signature" {
		t.Errorf("the signature of another token: %v", err)
	}
	if _, err := discover(t.Context(), endpoint, id, secret, sha256.Sum256(nil)); err == nil || err.Error() != "no CA with this public key" {
		t.Errorf("another CA: %v", err)
	}

	joining.BearerToken = bootstraputil.TokenFromIDAndSecret(id, secret)
	certificate, key := kubeletCertificate(t, must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(joining)), "n1")
	kubelet := rest.AnonymousClientConfig(joining)
	kubelet.CertData, kubelet.KeyData = certificate, key
	nodes := must[*kubernetes.Clientset](t)(kubernetes.NewForConfig(kubelet)).CoreV1().Nodes()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	must[*corev1.Node](t)(nodes.Create(t.Context(), node, metav1.CreateOptions{}))
	must[*corev1.Node](t)(nodes.Get(t.Context(), "n1", metav1.GetOptions{}))
	if _, err := nodes.Get(t.Context(), "n2", metav1.GetOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("another node: %v", err)
	}
}
