package signature_test

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/xfn-dev/xfn/internal/e2e/imagetest"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/signature"
)

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func pkcs8(t testing.TB, key crypto.PrivateKey) []byte {
	t.Helper()
	return must[[]byte](t)(x509.MarshalPKCS8PrivateKey(key))
}

func public(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	return block("PUBLIC KEY", must[[]byte](t)(x509.MarshalPKIXPublicKey(key.Public())))
}

func curve(t testing.TB, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	return must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(c, rand.Reader))
}

// seal encrypts a key as cosign does, at the lowest cost that it knows.
func seal(t testing.TB, key crypto.PrivateKey, password string) []byte {
	t.Helper()
	return must[[]byte](t)(encrypted.EncryptWithCustomKDFParameters(pkcs8(t, key), []byte(password), encrypted.Legacy))
}

// Whatever kind a key is of, and however it is written, the public key knows what
// the private one signs.
func TestKeys(t *testing.T) {
	p256, p384, p521 := curve(t, elliptic.P256()), curve(t, elliptic.P384()), curve(t, elliptic.P521())
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rsa2048 := must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048))
	sec1 := func(k *ecdsa.PrivateKey) []byte {
		return block("EC PRIVATE KEY", must[[]byte](t)(x509.MarshalECPrivateKey(k)))
	}
	sealed := seal(t, p256, "s3cret")
	cases := map[string]struct {
		reason   string
		key      crypto.Signer
		text     []byte
		password []byte
	}{
		"P256":      {"the kind that cosign makes", p256, block("PRIVATE KEY", pkcs8(t, p256)), nil},
		"P384":      {"as openssl ecparam -genkey -noout writes it", p384, sec1(p384), nil},
		"P521":      {"openssl names the curve before the key", p521, append(block("EC PARAMETERS", []byte{6, 5, 43, 129, 4, 0, 35}), sec1(p521)...), nil},
		"Text":      {"what is not PEM may stand before", p256, append([]byte("the key of acme\n"), sec1(p256)...), nil},
		"RSA":       {"RSA in its own format", rsa2048, block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsa2048)), nil},
		"RSA8":      {"RSA as PKCS #8", rsa2048, block("PRIVATE KEY", pkcs8(t, rsa2048)), nil},
		"Ed25519":   {"Ed25519 has no hash of its own", ed, block("PRIVATE KEY", pkcs8(t, ed)), []byte("not needed")},
		"Encrypted": {"as cosign 2 encrypts", p256, block("ENCRYPTED SIGSTORE PRIVATE KEY", sealed), []byte("s3cret")},
		"Older":     {"as cosign 1 encrypted", p256, block("ENCRYPTED COSIGN PRIVATE KEY", sealed), []byte("s3cret")},
		"Empty":     {"an empty password is one", p256, block("ENCRYPTED SIGSTORE PRIVATE KEY", seal(t, p256, "")), []byte{}},
	}
	other := imagetest.Key(t).Public()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k, err := signature.ParsePrivateKey(tc.text, tc.password)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			s := must[signature.Signature](t)(k.Sign(repo(t), digest))
			ownHalf := must[*signature.PublicKey](t)(signature.ParsePublicKey(tc.text, tc.password))
			half := must[*signature.PublicKey](t)(signature.ParsePublicKey(public(t, tc.key), nil))
			for _, p := range []*signature.PublicKey{ownHalf, half, k.Public()} {
				if n := p.Count([]signature.Signature{s}, digest); n != 1 {
					t.Errorf("%s: a public key does not know the signature", tc.reason)
				}
			}
			if n := other.Count([]signature.Signature{s}, digest); n != 0 {
				t.Errorf("%s: another key knows the signature", tc.reason)
			}
		})
	}
}

func TestNoKey(t *testing.T) {
	p256 := curve(t, elliptic.P256())
	small := must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 1024))
	x25519 := must[*ecdh.PrivateKey](t)(ecdh.X25519().GenerateKey(rand.Reader))
	sealed := seal(t, p256, "s3cret")
	const kind = "ENCRYPTED SIGSTORE PRIVATE KEY"
	greedy := strings.Replace(string(sealed), `"N":32768`, `"N":1073741824`, 1)
	cases := map[string]struct {
		reason   string
		text     []byte
		password []byte
		want     string
		hint     string
	}{
		"Empty":     {"there is nothing", nil, nil, "no key in PEM", ""},
		"Garbage":   {"any file", []byte("\x00\x01 apiVersion: v1\n"), nil, "no key in PEM", ""},
		"Long":      {"a file that is no key is not read whole", append(make([]byte, signature.MaxKey), block("PRIVATE KEY", pkcs8(t, p256))...), nil, "more than the 16 KiB", ""},
		"Damaged":   {"a key that was cut short", block("PRIVATE KEY", pkcs8(t, p256)[:50]), nil, `"PRIVATE KEY" holds no key that can be read`, ""},
		"Mislabel":  {"another format than its label says", block("RSA PRIVATE KEY", pkcs8(t, p256)), nil, `"RSA PRIVATE KEY" holds no key that can be read`, ""},
		"Cert":      {"a certificate is not trusted by its key alone", block("CERTIFICATE", []byte("x")), nil, `"CERTIFICATE" is no key`, ""},
		"OpenSSH":   {"keys of ssh have a format of their own", block("OPENSSH PRIVATE KEY", []byte("x")), nil, "no key that can be read", ""},
		"OpenSSL":   {"PKCS #8 encryption", block("ENCRYPTED PRIVATE KEY", []byte("x")), []byte("s3cret"), "as OpenSSL does it", "cosign import-key-pair"},
		"Legacy":    {"PEM encryption", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: []byte("x")}), []byte("s3cret"), "as OpenSSL does it", "cosign import-key-pair"},
		"NoPass":    {"nobody is asked for a password", block(kind, sealed), nil, "there is no password", ""},
		"WrongPass": {"another password", block(kind, sealed), []byte("hunter2"), "its password is wrong", ""},
		"Greedy":    {"what a password costs is bounded", block(kind, []byte(greedy)), []byte("s3cret"), "no key that can be read", ""},
		"Sealed":    {"what is encrypted is no JSON", block(kind, []byte("{")), []byte("s3cret"), "no key that can be read", ""},
		"P224":      {"too short a curve", block("PRIVATE KEY", pkcs8(t, curve(t, elliptic.P224()))), nil, "kind of key is not supported", ""},
		"RSA1024":   {"too short a modulus", block("PRIVATE KEY", pkcs8(t, small)), nil, "kind of key is not supported", ""},
		"X25519":    {"a key that signs nothing", block("PRIVATE KEY", pkcs8(t, x25519)), nil, "kind of key is not supported", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, private := signature.ParsePrivateKey(tc.text, tc.password)
			_, public := signature.ParsePublicKey(tc.text, tc.password)
			for _, err := range []error{private, public} {
				checkError(t, tc.reason, err, tc.want, tc.hint)
				if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "hunter2")) {
					t.Errorf("%s: the error holds the password: %v", tc.reason, err)
				}
			}
		})
	}
	_, err := signature.ParsePrivateKey(public(t, p256), nil)
	checkError(t, "the two files are easily mixed up", err, "it is a public key, and signing takes the private one", "")
	_, err = signature.ParsePublicKey(block("PUBLIC KEY", []byte("x")), nil)
	checkError(t, "a damaged public key", err, `"PUBLIC KEY" holds no key that can be read`, "")
	_, err = signature.ParsePrivateKey(block(kind, sealed), nil)
	if !errors.Is(err, signature.ErrNoPassword) {
		t.Errorf("callers say where a password is to be: got %v", err)
	}
}

func checkError(t *testing.T, reason string, err error, want, next string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || !strings.Contains(string(hint.Of(err)), next) {
		t.Errorf("%s: got error %v (hint: %s), want %q in it", reason, err, hint.Of(err), want)
	}
}

// A key is a file of a stranger, or a secret that must not be told.
func FuzzKey(f *testing.F) {
	p256 := curve(f, elliptic.P256())
	f.Add(block("PRIVATE KEY", pkcs8(f, p256)))
	f.Add(public(f, p256))
	f.Add(block("EC PRIVATE KEY", must[[]byte](f)(x509.MarshalECPrivateKey(p256))))
	f.Add(block("ENCRYPTED SIGSTORE PRIVATE KEY", []byte(`{"kdf":{"name":"scrypt","params":{"N":2,"r":8,"p":1},"salt":""},"cipher":{"name":"nacl/secretbox","nonce":""},"ciphertext":""}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := signature.ParsePrivateKey(text, []byte("s3cret"))
		if (k == nil) != (err != nil) {
			t.Fatalf("key %v, error %v", k, err)
		}
		p, err := signature.ParsePublicKey(text, []byte("s3cret"))
		if (p == nil) != (err != nil) || k != nil && p == nil {
			t.Fatalf("key %v, error %v", p, err)
		}
		if k == nil {
			return
		}
		s, err := k.Sign(repo(t), digest)
		if err != nil {
			t.Fatal(err)
		}
		if p.Count([]signature.Signature{s}, digest) != 1 {
			t.Error("the public half does not know the signature")
		}
	})
}
