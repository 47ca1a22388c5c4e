package signature_test

import (
	"regexp"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"

	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
)

// With the key of a certificate transparency log, an Identity accepts only certificates with a timestamp of
// this log.
func TestCertificateTimestamps(t *testing.T) {
	t.Parallel()
	flip := func(at int) func([]byte) []byte {
		return func(list []byte) []byte {
			list[at] ^= 1
			return list
		}
	}
	const id, at = 5, 5 + 32 // the offsets in a list
	const noTimestamp = "the certificate has no valid signed certificate timestamp (SCT) of the trusted certificate transparency log"
	for name, tc := range map[string]struct {
		reason string
		change func(list []byte) []byte
		want   string
	}{
		"Valid":   {"a timestamp of the log is accepted", nil, ""},
		"None":    {"a certificate without timestamps is refused", func([]byte) []byte { return nil }, "the certificate has no signed certificate timestamp (SCT)"},
		"Log":     {"a timestamp of another log is refused", flip(id), noTimestamp},
		"Time":    {"a changed time is refused", flip(at), noTimestamp},
		"Version": {"another version is refused", flip(id - 1), noTimestamp},
		"Short":   {"a list that ends early is refused", func(list []byte) []byte { return list[:len(list)-1] }, "the signed certificate timestamps (SCT) of the certificate are invalid"},
		"Long":    {"bytes after the list are refused", func(list []byte) []byte { return append(list, 0) }, "the signed certificate timestamps (SCT) of the certificate are invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKeyless(t)
			key, public := remotetest.ECDSAKey(t)
			k.authority.Certificates, k.authority.ChangeTimestamp = key, tc.change
			log := e2e.Must(signature.ParseLogKey(public))(t)
			v := e2e.Must(signature.NewIdentity(regexp.MustCompile(".*"), remotetest.Issuer, k.authority.Root, k.client.Key, log))(t)
			signed, _ := k.sign(t)
			by, err := signature.Check([]signature.Signature{signed}, digest, v)
			if tc.want != "" {
				checkError(t, tc.reason, err, tc.want, "")
			} else if err != nil || by[0] != 1 {
				t.Errorf("%s: got %v, error %v", tc.reason, by, err)
			}
		})
	}
}
