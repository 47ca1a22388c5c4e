package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/crossplane/crossplane-runtime/v2/pkg/xpkg/signature"
	"github.com/crossplane/crossplane/apis/v2/pkg/v1beta1"
	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// namespace is where the validator looks for secrets and service accounts.
const namespace = "crossplane-system"

func run(ctx context.Context) error {
	key := flag.String("key", "", "file of a public key")
	issuer := flag.String("issuer", "", "OIDC issuer of a keyless signature")
	subject := flag.String("subject", "", "subject of a keyless signature")
	noSCT := flag.Bool("ignore-sct", false, "accept a certificate without a timestamp of a certificate log")
	predicate := flag.String("predicate-type", "", "type of the attestation to require")
	root := flag.String("root", "", "file of the root certificate of keyless signatures")
	flag.Parse()
	if flag.NArg() != 1 {
		return errors.New("expected one reference")
	}
	ref, err := name.ParseReference(flag.Arg(0))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "imageconfig")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := trust(ctx, *root, dir); err != nil {
		return err
	}
	authority := v1beta1.CosignAuthority{Name: "test"}
	if *predicate != "" {
		authority.Attestations = []v1beta1.Attestation{{Name: "test", PredicateType: *predicate}}
	}
	var secrets reader
	if *key != "" {
		if secrets.key, err = os.ReadFile(*key); err != nil {
			return err
		}
		authority.Key = &v1beta1.KeyRef{
			SecretRef:     v1beta1.LocalSecretKeySelector{Key: "key"},
			HashAlgorithm: "sha256",
		}
	} else {
		authority.Keyless = &v1beta1.KeylessRef{Identities: []v1beta1.Identity{{Issuer: *issuer, Subject: *subject}}, InsecureIgnoreSCT: noSCT}
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "crossplane"}}
	v, err := signature.NewCosignValidator(secrets, fake.NewClientset(account), namespace, account.Name)
	if err != nil {
		return err
	}
	return v.Validate(ctx, ref, &v1beta1.ImageVerification{
		Provider: v1beta1.ImageVerificationProviderCosign,
		Cosign:   &v1beta1.CosignVerificationConfig{Authorities: []v1beta1.CosignAuthority{authority}},
	})
}

// reader is a client.Reader whose only object is a Secret with the public key.
type reader struct {
	client.Reader
	key []byte
}

// Get implements client.Reader.
func (r reader) Get(_ context.Context, _ client.ObjectKey, to client.Object, _ ...client.GetOption) error {
	s, ok := to.(*corev1.Secret)
	if !ok {
		return fmt.Errorf("expected to read a Secret, got a %T", to)
	}
	s.Data = map[string][]byte{"key": r.key}
	return nil
}
