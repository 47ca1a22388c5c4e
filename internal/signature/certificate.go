package signature

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
