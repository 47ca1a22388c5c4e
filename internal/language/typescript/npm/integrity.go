package npm

import (
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strings"
)

// A Digest is the digest of a package's tarball.
type Digest struct {
	// Algorithm is sha512, sha384, sha256 or sha1.
	Algorithm string
	// Hex is the digest in hexadecimal digits.
	Hex string
}

// String returns "ALGORITHM:HEX", or "" for the zero value.
func (d Digest) String() string {
	if d == (Digest{}) {
		return ""
	}
	return d.Algorithm + ":" + d.Hex
}

// algorithms are the algorithms of a Digest, the strongest first.
var algorithms = []struct {
	name string
	hash func() hash.Hash
}{{"sha512", sha512.New}, {"sha384", sha512.New384}, {"sha256", sha256.New}, {weak, sha1.New}}

// weak is the algorithm of packages that were published before 2017.
const weak = "sha1"

func (d Digest) hash() hash.Hash {
	for _, a := range algorithms {
		if a.name == d.Algorithm {
			return a.hash()
		}
	}
	panic("npm: unknown algorithm " + d.Algorithm)
}

// parseIntegrity returns the strongest digest of an integrity value, which has digests
// separated by spaces (W3C, "Subresource Integrity").
func parseIntegrity(text string) (Digest, error) {
	for _, a := range algorithms {
		for one := range strings.FieldsSeq(text) {
			value, ok := strings.CutPrefix(one, a.name+"-")
			if !ok {
				continue
			}
			value, _, _ = strings.Cut(value, "?")
			sum, err := base64.StdEncoding.DecodeString(value)
			if err != nil || len(sum) != a.hash().Size() {
				return Digest{}, fmt.Errorf("%q is not a digest", one)
			}
			return Digest{a.name, hex.EncodeToString(sum)}, nil
		}
	}
	if text == "" {
		return Digest{}, errors.New("the lock file has no integrity for it")
	}
	return Digest{}, fmt.Errorf("expected an integrity of sha512, got %q", text)
}
