package signature_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"

	"github.com/xfn-dev/xfn/internal/signature"
)

// A generated key is encrypted in cosign's format. Only its password decrypts it, also if
// the password is empty.
func TestGenerate(t *testing.T) {
	if testing.Short() {
		t.Skip("it encrypts keys with scrypt")
	}
	for _, password := range []string{"s3cret", ""} {
		k := e2e.Must(signature.Generate())(t)
		text := e2e.Must(k.Encrypt([]byte(password)))(t)
		if !strings.HasPrefix(string(text), "-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\n") {
			t.Errorf("the key begins with %.50q", text)
		}
		read := e2e.Must(signature.ParsePrivateKey(text, []byte(password)))(t)
		public := e2e.Must(signature.ParsePublicKey(e2e.Must(k.Public().PEM())(t)))(t)
		s := e2e.Must(read.Sign(repo(t), cosignedDigest))(t)
		e2e.Equal(t, fmt.Sprintf("with password %q", password), 1, public.Count([]signature.Signature{s}, cosignedDigest))
		if _, err := signature.ParsePrivateKey(text, []byte("other")); err == nil || err.Error() != "the password is wrong" {
			t.Errorf("with another password, the error is %v", err)
		}
	}
}
