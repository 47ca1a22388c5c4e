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

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// algorithms are the algorithms of the digests of tarballs, the strongest first.
var algorithms = []struct {
	name string
	hash func() hash.Hash
}{{"sha512", sha512.New}, {"sha384", sha512.New384}, {"sha256", sha256.New}, {weak, sha1.New}}

// weak is the algorithm of packages that were published before 2017.
const weak = "sha1"

func hashOf(d v1.Hash) hash.Hash {
	for _, a := range algorithms {
		if a.name == d.Algorithm {
			return a.hash()
		}
	}
	panic("npm: unknown algorithm " + d.Algorithm)
}

// parseIntegrity returns the strongest digest of an integrity value, which has digests
// separated by spaces (W3C, "Subresource Integrity").
func parseIntegrity(text string) (v1.Hash, error) {
	for _, a := range algorithms {
		for one := range strings.FieldsSeq(text) {
			value, ok := strings.CutPrefix(one, a.name+"-")
			if !ok {
				continue
			}
			value, _, _ = strings.Cut(value, "?")
			sum, err := base64.StdEncoding.DecodeString(value)
			if err != nil || len(sum) != a.hash().Size() {
				return v1.Hash{}, fmt.Errorf("%q is not a digest", one)
			}
			return v1.Hash{Algorithm: a.name, Hex: hex.EncodeToString(sum)}, nil
		}
	}
	if text == "" {
		return v1.Hash{}, errors.New("the lock file has no integrity for it")
	}
	return v1.Hash{}, fmt.Errorf("expected an integrity of sha512, got %q", text)
}
