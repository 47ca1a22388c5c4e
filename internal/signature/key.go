package signature

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	sigstore "github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"

	"github.com/xfn-dev/xfn/internal/hint"
)

// MaxKey is the maximum size of the text of a key, in bytes. Even an encrypted RSA key of
// 4096 bits, the longest supported key, is much smaller.
const MaxKey = 16 << 10

// ErrNoPassword is returned for an encrypted key if no password is given.
var ErrNoPassword = errors.New("the key is encrypted, and no password is given")

// ErrPassword is returned for an encrypted key with another password.
var ErrPassword = errors.New("the password is wrong")

// A PrivateKey is a key that signs images.
type PrivateKey struct {
	signer crypto.Signer
	public *PublicKey
	// certificate and chain are in PEM. They are empty for a key without a certificate.
	certificate, chain []byte
}

// A PublicKey is a key that verifies signatures made with its private key.
type PublicKey struct {
	key crypto.PublicKey
	// verifiers has one verifier for each hash function with which the key may have signed.
	verifiers []sigstore.Verifier
}

// ParsePrivateKey parses a private key in PEM. The key is unencrypted in PKCS #8, SEC 1
// (EC) or PKCS #1 (RSA), or was encrypted by cosign; then password must not be nil, but may
// be empty. The key is ECDSA on P-256, P-384 or P-521, RSA of 2048, 3072 or 4096 bits, or
// Ed25519.
//
// Errors do not name the source of the key, and contain no part of the key.
func ParsePrivateKey(text, password []byte) (*PrivateKey, error) {
	block, err := decode(text)
	if err != nil {
		return nil, err
	}
	if isPublic(block) {
		return nil, hint.Wrap(errors.New("expected a private key, got a public key"), "name the private key, such as the file cosign.key of a new pair of keys")
	}
	return privateKey(block, password)
}

// ParsePublicKey parses a public key in PEM, in PKIX or PKCS #1 (RSA). A private key is an
// error: who verifies does not need it.
func ParsePublicKey(text []byte) (*PublicKey, error) {
	block, err := decode(text)
	if err != nil {
		return nil, err
	}
	if block.Type == "CERTIFICATE" {
		return nil, hint.Wrap(errors.New("expected a public key, got a certificate"), "write the certificate's key to a file with openssl x509 -pubkey -noout -in CERTIFICATE > PUBLICKEY")
	}
	switch {
	case isPublic(block):
	case isEncrypted(block):
		return nil, hint.Wrap(errPrivate, "name the .pub file that was generated with the key, or write it again with cosign public-key")
	case strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, hint.Wrap(errPrivate, "write its public key to a file with openssl pkey -pubout -in FILE")
	default:
		return nil, fmt.Errorf("expected a public key, got a PEM block of type %q", block.Type)
	}
	public, err := cryptoutils.UnmarshalPEMToPublicKey(pem.EncodeToMemory(block))
	if err != nil {
		return nil, fmt.Errorf("the PEM block %q is not a valid key", block.Type)
	}
	return publicKey(public)
}

// NewPrivateKey returns a PrivateKey that signs with signer. The kind of key must be one
// that ParsePrivateKey supports.
func NewPrivateKey(signer crypto.Signer) (*PrivateKey, error) {
	public, err := publicKey(signer.Public())
	if err != nil {
		return nil, err
	}
	return &PrivateKey{signer: signer, public: public}, nil
}

// Signer returns the crypto.Signer of k, or nil if k is nil.
func (k *PrivateKey) Signer() crypto.Signer {
	if k == nil {
		return nil
	}
	return k.signer
}

// SignText returns the signature of text. It hashes the text with SHA-256, which cosign expects
// by default. For Ed25519, the algorithm contains the hash function.
func (k *PrivateKey) SignText(text []byte) ([]byte, error) {
	if _, ok := k.signer.Public().(ed25519.PublicKey); ok {
		return k.signer.Sign(rand.Reader, text, crypto.Hash(0))
	}
	sum := sha256.Sum256(text)
	return k.signer.Sign(rand.Reader, sum[:], crypto.SHA256)
}

// Public returns the public key of k.
func (k *PrivateKey) Public() *PublicKey { return k.public }

// decode returns the PEM block that contains a key. It skips the block "EC PARAMETERS",
// which OpenSSL writes before an EC key.
func decode(text []byte) (*pem.Block, error) {
	if len(text) > MaxKey {
		return nil, fmt.Errorf("the key is larger than the limit of %d KiB", MaxKey>>10)
	}
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, notPEM(text)
		}
		if block.Type != "EC PARAMETERS" {
			return block, nil
		}
		text = rest
	}
}

// notPEM returns an error that says how text differs from a key in PEM.
func notPEM(text []byte) error {
	const begin, encoded = "-----BEGIN ", "LS0tLS1CRUdJTi" // encoded is the beginning of begin in base64.
	err := errors.New("expected a key in PEM")
	switch text = bytes.TrimSpace(text); {
	case bytes.HasPrefix(text, []byte(encoded)):
		return hint.Wrap(fmt.Errorf("%w, got one in base64", err), "decode it first, with base64 -d")
	case bytes.Contains(text, []byte(begin)) && bytes.Contains(text, []byte(`\n`)):
		return hint.Wrap(fmt.Errorf(`%w, got one with \n as text in place of line breaks`, err), `store the key with its line breaks, or replace \n by them, as printf %b does`)
	case bytes.HasPrefix(text, []byte(begin)) && !bytes.Contains(text, []byte("\n")):
		return hint.Wrap(fmt.Errorf("%w, got one without line breaks", err), "store the key with its line breaks: put a variable in quotes wherever a shell uses it")
	default:
		return hint.Wrap(err, "name the file of a key, such as cosign.pub or cosign.key, which xfn xpkg keygen writes")
	}
}

func isPublic(block *pem.Block) bool {
	return block.Type == string(cryptoutils.PublicKeyPEMType) || block.Type == string(cryptoutils.PKCS1PublicKeyPEMType)
}

var errPrivate = errors.New("expected a public key, got a private key")

// isEncrypted reports whether cosign encrypted the key. It writes the first type since version
// 2, and wrote the second before.
func isEncrypted(block *pem.Block) bool {
	return block.Type == string(cryptoutils.EncryptedSigstorePrivateKeyPEMType) || block.Type == "ENCRYPTED COSIGN PRIVATE KEY"
}

func privateKey(block *pem.Block, password []byte) (*PrivateKey, error) {
	// The sigstore library accepts only three settings of scrypt, which limits the memory for
	// decryption to 128 MiB.
	encrypted := isEncrypted(block)
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY", block.Headers["DEK-Info"] != "":
		return nil, hint.Wrap(
			errors.New("keys encrypted by OpenSSL are not supported"),
			"encrypt the key as cosign does: cosign import-key-pair",
		)
	case !strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return nil, hint.Wrap(fmt.Errorf("expected a private key, got a PEM block of type %q", block.Type), "name the private key, such as the file cosign.key of a new pair of keys")
	case encrypted && password == nil:
		return nil, ErrNoPassword
	}
	key, err := cryptoutils.UnmarshalPEMToPrivateKey(pem.EncodeToMemory(block), cryptoutils.StaticPasswordFunc(password))
	switch {
	case err != nil && encrypted && strings.Contains(err.Error(), "decryption failed"):
		return nil, ErrPassword
	case err != nil:
		return nil, fmt.Errorf("the PEM block %q is not a valid key", block.Type)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errKind
	}
	return NewPrivateKey(signer)
}

var errKind = errors.New("the kind of key is not supported: expected ECDSA on P-256, P-384 or P-521, RSA of 2048, 3072 or 4096 bits, or Ed25519")

// publicKey returns a PublicKey that accepts signatures with two hash functions. The first
// is SHA-256, which cosign expects by default. The second is the hash function that cosign
// uses since version 2.5: for ECDSA, a hash as long as the curve, and for Ed25519,
// Ed25519ph.
func publicKey(key crypto.PublicKey) (*PublicKey, error) {
	standard, err := sigstore.LoadVerifier(key, crypto.SHA256)
	if err != nil {
		return nil, errKind
	}
	sized, err := sigstore.LoadDefaultVerifier(key, options.WithED25519ph())
	if err != nil {
		return nil, errKind
	}
	return &PublicKey{key, []sigstore.Verifier{standard, sized}}, nil
}

// verify implements Verifier.
func (k *PublicKey) verify(text, value []byte, _ Signature, _ func([]byte) LogEntry) error {
	for _, v := range k.verifiers {
		if v.VerifySignature(bytes.NewReader(value), bytes.NewReader(text)) == nil {
			return nil
		}
	}
	return errStranger
}

// String implements Verifier.
func (k *PublicKey) String() string { return "the key" }

// Certified returns k with a certificate of its public key, and the certificates of the
// authorities that issued it, in PEM. Signatures by the key have them.
func (k *PrivateKey) Certified(certificate, chain []byte) *PrivateKey {
	c := *k
	c.certificate, c.chain = certificate, chain
	return &c
}

// Certificate returns the certificate of k in PEM, or nil.
func (k *PrivateKey) Certificate() []byte { return k.certificate }

// VerifierPEM returns, in PEM, what verifies a signature by k: the certificate of k or, if k
// has no certificate, its public key.
func (k *PrivateKey) VerifierPEM() ([]byte, error) {
	if len(k.certificate) > 0 {
		return k.certificate, nil
	}
	return k.public.PEM()
}

// Generate returns a new key: ECDSA on P-256, as cosign generates it.
func Generate() (*PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating a key: %w", err)
	}
	return NewPrivateKey(key)
}

// Encrypt returns k in PEM, encrypted with password as cosign does: scrypt derives a key
// for NaCl's secretbox, and both are described in JSON.
func (k *PrivateKey) Encrypt(password []byte) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(k.signer)
	if err != nil {
		return nil, fmt.Errorf("encoding the private key: %w", err)
	}
	sealed, err := encrypted.Encrypt(der, password)
	if err != nil {
		return nil, fmt.Errorf("encrypting the private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: string(cryptoutils.EncryptedSigstorePrivateKeyPEMType), Bytes: sealed}), nil
}

// PEM returns the public key in PEM (PKIX).
func (k *PublicKey) PEM() ([]byte, error) {
	text, err := cryptoutils.MarshalPublicKeyToPEM(k.key)
	if err != nil {
		return nil, fmt.Errorf("encoding the public key: %w", err)
	}
	return text, nil
}
