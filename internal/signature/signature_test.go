package signature_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
)

var (
	digest = v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0123456789abcdef", 4)}
	other  = v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("fedcba9876543210", 4)}
)

func repo(t testing.TB) name.Repository {
	t.Helper()
	return e2e.Must(name.NewRepository("registry.example.org/acme/hello"))(t)
}

// document is the text that cosign 2 signs. %s stands for the digest of the image.
const document = `{"critical":{"identity":{"docker-reference":"registry.example.org/acme/hello"},"image":{"docker-manifest-digest":"%s"},"type":"cosign container image signature"},"optional":null}`

func TestTag(t *testing.T) {
	want := "registry.example.org/acme/hello:sha256-" + digest.Hex + ".sig"
	e2e.Equal(t, "the tag has the digest of the signed image", want, signature.Tag(repo(t), digest).Name())
}

// Sign creates exactly the payload that cosign creates.
func TestSign(t *testing.T) {
	s := e2e.Must(remotetest.Key(t).Sign(repo(t), digest))(t)
	e2e.Equal(t, "the payload is that of cosign", fmt.Sprintf(document, digest), string(s.Payload))
}

// Signatures with each hash function that cosign has used for the kind of key are valid.
func TestHashes(t *testing.T) {
	text := fmt.Appendf(nil, document, digest)
	sum256, sum384, sum512 := sha256.Sum256(text), sha512.Sum384(text), sha512.Sum512(text)
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	e2e.NoError(t, err)
	sign := func(k crypto.Signer, sum []byte, o crypto.SignerOpts) []byte {
		return e2e.Must(k.Sign(rand.Reader, sum, o))(t)
	}
	p256, p384, p521 := curve(t, elliptic.P256()), curve(t, elliptic.P384()), curve(t, elliptic.P521())
	cases := map[string]struct {
		reason string
		key    crypto.Signer
		value  []byte
		want   int
	}{
		"P256":      {"P-256 with SHA-256, the default of cosign, is accepted", p256, sign(p256, sum256[:], crypto.SHA256), 1},
		"P384":      {"P-384 with SHA-256, as in cosign before 2.5, is accepted", p384, sign(p384, sum256[:], crypto.SHA256), 1},
		"P384Long":  {"P-384 with SHA-384, as in cosign since 2.5, is accepted", p384, sign(p384, sum384[:], crypto.SHA384), 1},
		"P521Long":  {"P-521 with SHA-512, as in cosign since 2.5, is accepted", p521, sign(p521, sum512[:], crypto.SHA512), 1},
		"Ed25519":   {"Ed25519, as in cosign before 2.5, is accepted", ed, sign(ed, text, crypto.Hash(0)), 1},
		"Ed25519ph": {"Ed25519ph, as in cosign since 2.5, is accepted", ed, sign(ed, sum512[:], crypto.SHA512), 1},
		"WrongHash": {"a hash longer than the curve is rejected", p256, sign(p256, sum384[:], crypto.SHA384), 0},
		"Nothing":   {"an empty signature is rejected", p256, nil, 0},
		"OtherKey":  {"a signature by a key of another kind is rejected", p256, sign(ed, text, crypto.Hash(0)), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k := e2e.Must(signature.ParsePublicKey(public(t, tc.key)))(t)
			e2e.Equal(t, tc.reason+": the number of valid signatures", tc.want, k.Count([]signature.Signature{{Payload: text, Value: tc.value}}, digest))
		})
	}
}

func TestCheck(t *testing.T) {
	mine, yours := remotetest.Key(t), remotetest.Key(t)
	good := e2e.Must(mine.Sign(repo(t), digest))(t)
	theirs := e2e.Must(remotetest.Key(t).Sign(repo(t), digest))(t)
	elsewhere := e2e.Must(mine.Sign(repo(t), other))(t)
	tampered := signature.Signature{Payload: good.Payload, Value: append([]byte(nil), good.Value...)}
	tampered.Value[len(tampered.Value)-1] ^= 1
	swapped := signature.Signature{Payload: fmt.Appendf(nil, document, other), Value: good.Value}
	cases := map[string]struct {
		reason string
		all    []signature.Signature
		digest v1.Hash
		keys   []*signature.PrivateKey
		by     []int
		err    string
	}{
		"Good":       {"a signature by the key is valid", []signature.Signature{good}, digest, []*signature.PrivateKey{mine}, []int{1}, ""},
		"Among":      {"other signatures are ignored", []signature.Signature{theirs, tampered, elsewhere, {}, good}, digest, []*signature.PrivateKey{mine}, []int{1}, ""},
		"Any":        {"one of the keys is enough", []signature.Signature{good}, digest, []*signature.PrivateKey{yours, mine}, []int{0, 1}, ""},
		"Twice":      {"two signatures by one key are counted twice", []signature.Signature{good, e2e.Must(mine.Sign(repo(t), digest))(t)}, digest, []*signature.PrivateKey{mine}, []int{2}, ""},
		"None":       {"a digest without signatures is an error", nil, digest, []*signature.PrivateKey{mine}, nil, digest.String() + " has no signature"},
		"Other":      {"a signature by another key is not enough", []signature.Signature{theirs}, digest, []*signature.PrivateKey{mine}, nil, "has 1 signature, but none by the key: "},
		"Others":     {"the error has the numbers of signatures and keys", []signature.Signature{theirs, theirs}, digest, []*signature.PrivateKey{mine, yours}, nil, "has 2 signatures, but none by any of the 2 keys: "},
		"Tampered":   {"a signature with a flipped bit is invalid", []signature.Signature{tampered}, digest, []*signature.PrivateKey{mine}, nil, "made with other keys, or changed"},
		"Swapped":    {"a signature of another document is invalid", []signature.Signature{swapped}, other, []*signature.PrivateKey{mine}, nil, "made with other keys, or changed"},
		"Elsewhere":  {"a signature of another package is invalid", []signature.Signature{theirs, elsewhere}, digest, []*signature.PrivateKey{mine}, nil, digest.String() + " has no valid signature: the key signed " + other.String()},
		"Unreadable": {"a layer that is too large is not a signature", []signature.Signature{{}}, digest, []*signature.PrivateKey{mine}, nil, "made with other keys, or changed"},
		"NoKeys":     {"without a key no signature is valid", []signature.Signature{good}, digest, nil, nil, "has 1 signature, but none by any of the 0 keys: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var keys []signature.Verifier
			for _, k := range tc.keys {
				keys = append(keys, k.Public())
			}
			by, err := signature.Check(tc.all, tc.digest, keys...)
			e2e.Equal(t, tc.reason, tc.by, by)
			if tc.err != "" {
				checkError(t, tc.reason, err, tc.err, "")
			} else {
				e2e.WantError(t, tc.reason, err, "")
			}
		})
	}
}

// A valid signature is rejected if its document is not about an image: cosign
// can also sign files.
func TestOtherDocuments(t *testing.T) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	e2e.NoError(t, err)
	key := e2e.Must(signature.ParsePublicKey(public(t, ed)))(t)
	cases := map[string]struct{ reason, text, want string }{
		"File":     {"a blob that cosign sign-blob signed is rejected", "hello", "expected the JSON of a simple signing document"},
		"Empty":    {"an empty document is rejected", "{}", `type "cosign container image signature", got ""`},
		"Atomic":   {"the older document type is rejected", strings.Replace(fmt.Sprintf(document, digest), "cosign container image signature", "atomic container signature", 1), `type "cosign container image signature", got "atomic container signature"`},
		"NoDigest": {"an invalid digest in the document is an error", fmt.Sprintf(document, "latest"), `the digest "latest" is invalid`},
		"List":     {"JSON of another structure is rejected", "[]", "expected the JSON of a simple signing document"},
		"Twice":    {"a text with two documents is rejected", fmt.Sprintf(document, digest) + "{}", "expected the JSON of a simple signing document"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := signature.Signature{Payload: []byte(tc.text), Value: ed25519.Sign(ed, []byte(tc.text))}
			_, err := signature.Check([]signature.Signature{s}, digest, key)
			checkError(t, tc.reason, err, tc.want, "")
		})
	}
}

// Check accepts a signature only if its document contains the expected digest.
func FuzzCheck(f *testing.F) {
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	e2e.NoError(f, err)
	keys := []signature.Verifier{
		e2e.Must(signature.ParsePublicKey(public(f, ed)))(f),
		e2e.Must(signature.ParsePublicKey(public(f, curve(f, elliptic.P256()))))(f),
	}
	p256 := curve(f, elliptic.P256())
	sum := sha256.Sum256([]byte(document))
	f.Add(fmt.Appendf(nil, document, digest), e2e.Must(ecdsa.SignASN1(rand.Reader, p256, sum[:]))(f))
	f.Add(fmt.Appendf(nil, document, other), []byte{})
	f.Fuzz(func(t *testing.T, text, value []byte) {
		signed := signature.Signature{Payload: text, Value: ed25519.Sign(ed, text)}
		by, err := signature.Check([]signature.Signature{signed, {Payload: text, Value: value}}, digest, keys...)
		if err == nil && (by[0] == 0 || !strings.Contains(string(text), digest.Hex)) {
			t.Errorf("%q is valid, by %v", text, by)
		}
		if err != nil && by != nil {
			t.Error("Check returned a result and an error")
		}
	})
}
