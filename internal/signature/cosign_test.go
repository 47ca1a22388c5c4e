package signature_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/static"

	"github.com/xfn-dev/xfn/internal/oci"
	"github.com/xfn-dev/xfn/internal/signature"
)

// The files in testdata were created by cosign v2.6.5, with keys that are used
// only here. The keys are from generate-key-pair (with the password "s3cret")
// and import-key-pair. The signatures are from sign --tlog-upload=false with
// each of the three keys, for an image in a local registry.

func file(t testing.TB, name string) []byte {
	t.Helper()
	return e2e.Must(os.ReadFile(filepath.Join("testdata", name)))(t)
}

func cosigned(t testing.TB) v1.Image {
	t.Helper()
	return e2e.Must(oci.Image(file(t, "manifest.json"), file(t, "config.json"), static.NewLayer(file(t, "payload.json"), kind)))(t)
}

var cosignedDigest = v1.Hash{Algorithm: "sha256", Hex: "7e4623bbe3eadcebd175d24404ea861b89a9f2014795ffef4dbf3e1830a92c29"}

func TestMadeByCosign(t *testing.T) {
	all := e2e.Must(signature.Read(cosigned(t)))(t)
	if len(all) != 3 {
		t.Fatalf("there are %d signatures, want 3", len(all))
	}
	for i, name := range []string{"cosign.pub", "p384.pub", "ed25519.pub"} {
		k := e2e.Must(signature.ParsePublicKey(file(t, name)))(t)
		for j, s := range all {
			want := 0
			if i == j {
				want = 1
			}
			e2e.Equal(t, fmt.Sprintf("only the key that signed accepts the signature: %s", name), want, k.Count([]signature.Signature{s}, cosignedDigest))
		}
	}
}

// An encrypted private key of cosign signs the same bytes as cosign. Append
// keeps the signature layers of cosign.
func TestJoinCosign(t *testing.T) {
	s := e2e.Must(e2e.Must(signature.ParsePrivateKey(file(t, "cosign.key"), []byte("s3cret")))(t).Sign(repo(t), cosignedDigest))(t)
	e2e.Equal(t, "the payload is that of cosign", string(file(t, "payload.json")), string(s.Payload))
	before, img := cosigned(t), e2e.Must(signature.Append(cosigned(t), s))(t)
	m, old := e2e.Must(img.Manifest())(t), e2e.Must(before.Manifest())(t)
	e2e.Equal(t, "the layers of cosign are kept", old.Layers, m.Layers[:3])
	theirs := e2e.Must(signature.ParsePublicKey(file(t, "cosign.pub")))(t)
	e2e.Equal(t, "the signatures that cosign's public key verifies", 2, theirs.Count(e2e.Must(signature.Read(img))(t), cosignedDigest))
}
