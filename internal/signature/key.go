package signature

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	sigstore "github.com/sigstore/sigstore/pkg/signature"
	"github.com/sigstore/sigstore/pkg/signature/options"

	"github.com/xfn-dev/xfn/internal/hint"
)

// MaxKey is how many bytes the text of a key may have: several times those of
// the longest, RSA of 4096 bits, encrypted.
const MaxKey = 16 << 10

// ErrNoPassword says that a key is encrypted and that there is no password.
var ErrNoPassword = errors.New("it is encrypted, and there is no password")

// A PrivateKey signs.
type PrivateKey struct {
	signer crypto.Signer
	public *PublicKey
}

// A PublicKey tells the signatures of its private key from others.
type PublicKey struct {
	// verifiers are for the hashes that signatures of this kind of key are made
	// with.
	verifiers []sigstore.Verifier
}

// ParsePrivateKey reads a private key in PEM: PKCS #8, SEC 1 (EC) or PKCS #1
// (RSA) without encryption, or one that cosign has encrypted, whose password
// may be empty but not nil. It is ECDSA on P-256, P-384 or P-521, RSA of 2048,
// 3072 or 4096 bits, or Ed25519.
//
// An error is one sentence that does not name where the key comes from, and
// holds nothing of it.
func ParsePrivateKey(text, password []byte) (*PrivateKey, error) {
	block, err := decode(text)
	if err != nil {
		return nil, err
	}
	if isPublic(block) {
		return nil, errors.New("it is a public key, and signing takes the private one")
	}
	return privateKey(block, password)
}

// ParsePublicKey reads a public key in PEM, PKIX or PKCS #1 (RSA), or takes that
// of a private key as ParsePrivateKey reads it.
func ParsePublicKey(text, password []byte) (*PublicKey, error) {
	block, err := decode(text)
	if err != nil {
		return nil, err
	}
	if !isPublic(block) {
		k, err := privateKey(block, password)
		if err != nil {
			return nil, err
		}
		return k.public, nil
	}
	public, err := cryptoutils.UnmarshalPEMToPublicKey(pem.EncodeToMemory(block))
	if err != nil {
		return nil, fmt.Errorf("its PEM block %q holds no key that can be read", block.Type)
	}
	return publicKey(public)
}

// NewPrivateKey returns the private key that signs by signer, which is of a kind
// that ParsePrivateKey supports.
func NewPrivateKey(signer crypto.Signer) (*PrivateKey, error) {
	public, err := publicKey(signer.Public())
	if err != nil {
		return nil, err
	}
	return &PrivateKey{signer, public}, nil
}

// Signer returns the signer of k, or nil for a nil key.
func (k *PrivateKey) Signer() crypto.Signer {
	if k == nil {
		return nil
	}
	return k.signer
}

// sign signs text: with SHA-256, which cosign expects of any key unless told
// otherwise, or by Ed25519, which has a hash of its own.
func (k *PrivateKey) sign(text []byte) ([]byte, error) {
	if _, ok := k.signer.Public().(ed25519.PublicKey); ok {
		return k.signer.Sign(rand.Reader, text, crypto.Hash(0))
	}
	sum := sha256.Sum256(text)
	return k.signer.Sign(rand.Reader, sum[:], crypto.SHA256)
}

// Public returns the key that checks what k signs.
func (k *PrivateKey) Public() *PublicKey { return k.public }

// decode returns the PEM block of a key. OpenSSL writes the name of an EC key's
// curve before it, as a block of its own.
func decode(text []byte) (*pem.Block, error) {
	if len(text) > MaxKey {
		return nil, fmt.Errorf("it has more than the %d KiB of any key", MaxKey>>10)
	}
	for {
		block, rest := pem.Decode(text)
		if block == nil {
			return nil, errors.New("it holds no key in PEM")
		}
		if block.Type != "EC PARAMETERS" {
			return block, nil
		}
		text = rest
	}
}

func isPublic(block *pem.Block) bool {
	return block.Type == string(cryptoutils.PublicKeyPEMType) || block.Type == string(cryptoutils.PKCS1PublicKeyPEMType)
}

func privateKey(block *pem.Block, password []byte) (*PrivateKey, error) {
	if err := checkPrivate(block, password); err != nil {
		return nil, err
	}
	key, err := cryptoutils.UnmarshalPEMToPrivateKey(pem.EncodeToMemory(block), cryptoutils.StaticPasswordFunc(password))
	switch {
	case err != nil && isEncrypted(block) && strings.Contains(err.Error(), "decryption failed"):
		return nil, errors.New("its password is wrong")
	case err != nil:
		return nil, fmt.Errorf("its PEM block %q holds no key that can be read", block.Type)
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errKind
	}
	return NewPrivateKey(signer)
}

// checkPrivate refuses what is no private key, or cannot be decrypted.
func checkPrivate(block *pem.Block, password []byte) error {
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY", block.Headers["DEK-Info"] != "":
		return hint.Wrap(
			errors.New("it is encrypted as OpenSSL does it, which is not supported"),
			"encrypt it as cosign does: cosign import-key-pair",
		)
	case !strings.HasSuffix(block.Type, "PRIVATE KEY"):
		return fmt.Errorf("its PEM block %q is no key", block.Type)
	case isEncrypted(block) && password == nil:
		return ErrNoPassword
	default:
		return nil
	}
}

// isEncrypted tells the keys that cosign writes, today and before version 2.
// What they cost to decrypt is bounded: the library has three settings of scrypt,
// of up to 128 MiB, and refuses others.
func isEncrypted(block *pem.Block) bool {
	return block.Type == string(cryptoutils.EncryptedSigstorePrivateKeyPEMType) || block.Type == "ENCRYPTED COSIGN PRIVATE KEY"
}

var errKind = errors.New("its kind of key is not supported: expected ECDSA on P-256, P-384 or P-521, RSA of 2048, 3072 or 4096 bits, or Ed25519")

// publicKey takes signatures with SHA-256, which cosign expects of any key unless
// told otherwise, and those with the hash that it signs with from 2.5 on: one as
// long as the curve, and Ed25519ph.
func publicKey(key crypto.PublicKey) (*PublicKey, error) {
	usual, err := sigstore.LoadVerifier(key, crypto.SHA256)
	if err != nil {
		return nil, errKind
	}
	longer, err := sigstore.LoadDefaultVerifier(key, options.WithED25519ph())
	if err != nil {
		return nil, errKind
	}
	return &PublicKey{[]sigstore.Verifier{usual, longer}}, nil
}

// made says whether k's private key made s.
func (k *PublicKey) made(s Signature) bool {
	for _, v := range k.verifiers {
		if v.VerifySignature(bytes.NewReader(s.Value), bytes.NewReader(s.Payload)) == nil {
			return true
		}
	}
	return false
}
