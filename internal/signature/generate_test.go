package signature_test

import (
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/signature"
)

// A generated key is encrypted in cosign's format. Only its password decrypts it, also if
// the password is empty.
func TestGenerate(t *testing.T) {
	if testing.Short() {
		t.Skip("it encrypts keys with scrypt")
	}
	for _, password := range []string{"s3cret", ""} {
		k := must[*signature.PrivateKey](t)(signature.Generate())
		text := must[[]byte](t)(k.Encrypt([]byte(password)))
		if !strings.HasPrefix(string(text), "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n") {
			t.Errorf("the key begins with %.50q", text)
		}
		read := must[*signature.PrivateKey](t)(signature.ParsePrivateKey(text, []byte(password)))
		public := must[*signature.PublicKey](t)(signature.ParsePublicKey(must[[]byte](t)(k.Public().PEM())))
		s := must[signature.Signature](t)(read.Sign(repo(t), cosignedDigest))
		if n := public.Count([]signature.Signature{s}, cosignedDigest); n != 1 {
			t.Errorf("with password %q, the public key verifies %d signatures, want 1", password, n)
		}
		if _, err := signature.ParsePrivateKey(text, []byte("other")); err == nil || err.Error() != "the password is wrong" {
			t.Errorf("with another password, the error is %v", err)
		}
	}
}
