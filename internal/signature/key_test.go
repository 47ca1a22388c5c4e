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
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
)

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

func pkcs8(t testing.TB, key crypto.PrivateKey) []byte {
	t.Helper()
	return e2e.Must(x509.MarshalPKCS8PrivateKey(key))(t)
}

func public(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	return block("PUBLIC KEY", e2e.Must(x509.MarshalPKIXPublicKey(key.Public()))(t))
}

func curve(t testing.TB, c elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	return e2e.Must(ecdsa.GenerateKey(c, rand.Reader))(t)
}

// seal encrypts a private key as cosign does, with the lowest scrypt cost that
// cosign supports.
func seal(t testing.TB, key crypto.PrivateKey, password string) []byte {
	t.Helper()
	return e2e.Must(encrypted.EncryptWithCustomKDFParameters(pkcs8(t, key), []byte(password), encrypted.Legacy))(t)
}

// A key of each supported kind and format verifies its own signatures, and no
// signatures by other keys.
func TestKeys(t *testing.T) {
	p256, p384, p521 := curve(t, elliptic.P256()), curve(t, elliptic.P384()), curve(t, elliptic.P521())
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	e2e.NoError(t, err)
	rsa2048 := e2e.Must(rsa.GenerateKey(rand.Reader, 2048))(t)
	sec1 := func(k *ecdsa.PrivateKey) []byte {
		return block("EC PRIVATE KEY", e2e.Must(x509.MarshalECPrivateKey(k))(t))
	}
	sealed := seal(t, p256, "s3cret")
	cases := map[string]struct {
		reason         string
		key            crypto.Signer
		text, password []byte
	}{
		"P256":      {"P-256 in PKCS #8, as cosign generates it, is supported", p256, block("PRIVATE KEY", pkcs8(t, p256)), nil},
		"P384":      {"P-384 in SEC 1, as openssl ecparam writes it, is supported", p384, sec1(p384), nil},
		"P521":      {"a block with the curve before the key is ignored", p521, append(block("EC PARAMETERS", []byte{6, 5, 43, 129, 4, 0, 35}), sec1(p521)...), nil},
		"Text":      {"text before the PEM block is ignored", p256, append([]byte("the key of acme\n"), sec1(p256)...), nil},
		"RSA":       {"RSA in PKCS #1 is supported", rsa2048, block("RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(rsa2048)), nil},
		"RSA8":      {"RSA in PKCS #8 is supported", rsa2048, block("PRIVATE KEY", pkcs8(t, rsa2048)), nil},
		"Ed25519":   {"Ed25519 has its own hash", ed, block("PRIVATE KEY", pkcs8(t, ed)), []byte("not needed")},
		"Encrypted": {"a key encrypted by cosign 2 is supported", p256, block("ENCRYPTED SIGSTORE PRIVATE KEY", sealed), []byte("s3cret")},
		"Older":     {"a key encrypted by cosign 1 is supported", p256, block("ENCRYPTED COSIGN PRIVATE KEY", sealed), []byte("s3cret")},
		"Empty":     {"an empty password is valid", p256, block("ENCRYPTED SIGSTORE PRIVATE KEY", seal(t, p256, "")), []byte{}},
	}
	other := remotetest.Key(t).Public()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k := e2e.Must(signature.ParsePrivateKey(tc.text, tc.password))(t)
			s := e2e.Must(k.Sign(repo(t), digest))(t)
			half := e2e.Must(signature.ParsePublicKey(public(t, tc.key)))(t)
			for _, p := range []*signature.PublicKey{half, k.Public()} {
				e2e.Equal(t, tc.reason+": the public key rejects the signature", 1, p.Count([]signature.Signature{s}, digest))
			}
			e2e.Equal(t, tc.reason+": another key accepts the signature", 0, other.Count([]signature.Signature{s}, digest))
		})
	}
}

func TestNoKey(t *testing.T) {
	p256 := curve(t, elliptic.P256())
	small := e2e.Must(rsa.GenerateKey(rand.Reader, 1024))(t)
	x25519 := e2e.Must(ecdh.X25519().GenerateKey(rand.Reader))(t)
	sealed := seal(t, p256, "s3cret")
	const kind = "ENCRYPTED SIGSTORE PRIVATE KEY"
	greedy := strings.Replace(string(sealed), `"N":32768`, `"N":1073741824`, 1)
	cases := map[string]struct {
		reason         string
		text, password []byte
		want, hint     string
	}{
		"Empty":     {"an empty file is not a key", nil, nil, "expected a key in PEM", ""},
		"Garbage":   {"a file without PEM is not a key", []byte("\x00\x01 apiVersion: v1\n"), nil, "expected a key in PEM", ""},
		"Escaped":   {"a variable may have no line breaks", []byte(strings.ReplaceAll(string(block("PRIVATE KEY", pkcs8(t, p256))), "\n", `\n`)), nil, `got one with \n as text`, "printf %b"},
		"Joined":    {"a shell replaces line breaks outside of quotes", []byte(strings.ReplaceAll(string(block("PRIVATE KEY", pkcs8(t, p256))), "\n", " ")), nil, "got one without line breaks", "in quotes"},
		"Base64":    {"a key may be encoded twice", []byte(base64.StdEncoding.EncodeToString(block("PRIVATE KEY", pkcs8(t, p256)))), nil, "got one in base64", "base64 -d"},
		"Long":      {"a file that is too large is refused", append(make([]byte, signature.MaxKey), block("PRIVATE KEY", pkcs8(t, p256))...), nil, "larger than the limit of 16 KiB", ""},
		"Damaged":   {"a truncated key is invalid", block("PRIVATE KEY", pkcs8(t, p256)[:50]), nil, `"PRIVATE KEY" is not a valid key`, ""},
		"Mislabel":  {"a key in another format than its PEM type is invalid", block("RSA PRIVATE KEY", pkcs8(t, p256)), nil, `"RSA PRIVATE KEY" is not a valid key`, ""},
		"Request":   {"a certificate request is not a key", block("CERTIFICATE REQUEST", []byte("x")), nil, `expected a private key, got a PEM block of type "CERTIFICATE REQUEST"`, ""},
		"OpenSSH":   {"the format of OpenSSH is not supported", block("OPENSSH PRIVATE KEY", []byte("x")), nil, "is not a valid key", ""},
		"OpenSSL":   {"PKCS #8 encryption", block("ENCRYPTED PRIVATE KEY", []byte("x")), []byte("s3cret"), "encrypted by OpenSSL", "cosign import-key-pair"},
		"Legacy":    {"PEM encryption", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"}, Bytes: []byte("x")}), []byte("s3cret"), "encrypted by OpenSSL", "cosign import-key-pair"},
		"NoPass":    {"an encrypted key needs a password", block(kind, sealed), nil, "no password is given", ""},
		"WrongPass": {"a wrong password is an error", block(kind, sealed), []byte("hunter2"), "the password is wrong", ""},
		"Greedy":    {"the cost of scrypt is limited", block(kind, []byte(greedy)), []byte("s3cret"), "is not a valid key", ""},
		"Sealed":    {"an encrypted key must be JSON", block(kind, []byte("{")), []byte("s3cret"), "is not a valid key", ""},
		"P224":      {"P-224 is not supported", block("PRIVATE KEY", pkcs8(t, curve(t, elliptic.P224()))), nil, "kind of key is not supported", ""},
		"RSA1024":   {"RSA of 1024 bits is not supported", block("PRIVATE KEY", pkcs8(t, small)), nil, "kind of key is not supported", ""},
		"X25519":    {"X25519 cannot sign", block("PRIVATE KEY", pkcs8(t, x25519)), nil, "kind of key is not supported", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := signature.ParsePrivateKey(tc.text, tc.password)
			checkError(t, tc.reason, err, tc.want, tc.hint)
			if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("%s: the error contains the password: %v", tc.reason, err)
			}
		})
	}
	_, err := signature.ParsePrivateKey(public(t, p256), nil)
	checkError(t, "a public key cannot sign", err, "expected a private key, got a public key", "")
	for _, tc := range []struct {
		reason     string
		text       []byte
		want, hint string
	}{
		{"an empty file is not a key", nil, "expected a key in PEM", ""},
		{"a certificate is not trusted by its key alone", block("CERTIFICATE", []byte("x")), "expected a public key, got a certificate", "openssl x509 -pubkey"},
		{"a certificate request is not a key", block("CERTIFICATE REQUEST", []byte("x")), `expected a public key, got a PEM block of type "CERTIFICATE REQUEST"`, ""},
		{"a damaged public key is invalid", block("PUBLIC KEY", []byte("x")), `"PUBLIC KEY" is not a valid key`, ""},
		{"a private key is not needed to verify", block("PRIVATE KEY", pkcs8(t, p256)), "expected a public key, got a private key", "openssl pkey -pubout"},
		{"an encrypted private key needs no password to be recognized", block(kind, sealed), "expected a public key, got a private key", "the .pub file"},
	} {
		_, err := signature.ParsePublicKey(tc.text)
		checkError(t, tc.reason, err, tc.want, tc.hint)
	}
	_, err = signature.ParsePrivateKey(block(kind, sealed), nil)
	e2e.ErrorIs(t, "a missing password is ErrNoPassword", err, signature.ErrNoPassword)
}

func checkError(t *testing.T, reason string, err error, want, next string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || !strings.Contains(string(hint.Of(err)), next) {
		t.Errorf("%s: got error %v (hint: %s), want %q in it", reason, err, hint.Of(err), want)
	}
}

// Parsing arbitrary text as a key must not panic, and errors must not contain the text.
func FuzzKey(f *testing.F) {
	p256 := curve(f, elliptic.P256())
	f.Add(block("PRIVATE KEY", pkcs8(f, p256)))
	f.Add(public(f, p256))
	f.Add(block("EC PRIVATE KEY", e2e.Must(x509.MarshalECPrivateKey(p256))(f)))
	f.Add(block("ENCRYPTED SIGSTORE PRIVATE KEY", []byte(`{"kdf":{"name":"scrypt","params":{"N":2,"r":8,"p":1},"salt":""},"cipher":{"name":"nacl/secretbox","nonce":""},"ciphertext":""}`)))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := signature.ParsePrivateKey(text, []byte("s3cret"))
		if (k == nil) != (err != nil) {
			t.Fatalf("key %v, error %v", k, err)
		}
		p, err := signature.ParsePublicKey(text)
		if (p == nil) != (err != nil) || k != nil && p != nil {
			t.Fatalf("key %v, error %v", p, err)
		}
		if k == nil {
			return
		}
		s := e2e.Must(k.Sign(repo(t), digest))(t)
		e2e.Equal(t, "the public key accepts the signature", 1, k.Public().Count([]signature.Signature{s}, digest))
	})
}

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
		e2e.Equal(t, fmt.Sprintf("the key with password %q signs as before", password), 1, public.Count([]signature.Signature{s}, cosignedDigest))
		e2e.Equal(t, "another password is an error", "the password is wrong", fmt.Sprint(e2e.Err(signature.ParsePrivateKey(text, []byte("other")))))
	}
}
