package signature

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/secure-systems-lab/go-securesystemslib/encrypted"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
)

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
