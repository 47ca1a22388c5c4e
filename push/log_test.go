package push_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
	"github.com/xfn-dev/xfn/push"
)

// found returns the signatures of a digest at ref's repository.
func found(t *testing.T, ref name.Tag, digest v1.Hash) []signature.Signature {
	t.Helper()
	_, all, err := image.Signatures(t.Context(), ref.Context(), digest, remote.New(remote.Options{}))
	e2e.NoError(t, err)
	return all
}

// A signature has the bundle of the log. A signature without a bundle is not enough if a
// log is given. Sign signs a package that is in a registry.
func TestSignLog(t *testing.T) {
	log := remotetest.ServeLog(t)
	logKey := e2e.Must(signature.ParseLogKey(log.PEM))(t)
	key := remotetest.SignKey(t)
	ref := parse(t, remotetest.Serve(t, remotetest.Handler()))
	o := push.Options{SignKey: key.Signer()}
	res := e2e.Must(push.Artifact(t.Context(), ref, single(t), o))(t)
	o.Log = &push.Log{URL: log.URL, Key: log.PEM}
	for _, want := range []bool{true, false} {
		got := e2e.Must(push.Sign(t.Context(), ref, o))(t)
		if got.Signed != want || got.Digest != res.Digest || got.Signature != res.Signature || len(got.References) != 1 {
			t.Errorf("got %+v, want Signed %t", got, want)
		}
	}
	all := found(t, ref, res.Digest)
	if len(all) != 2 || len(all[0].Bundle) != 0 || log.Len() != 6 {
		t.Fatalf("there are %d signatures, and %d log entries, want 2 and 6", len(all), log.Len())
	}
	pem := e2e.Must(key.VerifierPEM())(t)
	e2e.NoError(t, e2e.Err(logKey.Verify(all[1].Bundle, signature.HashedEntry(all[1].Payload, all[1].Value, pem))))
}

// A refusing is a transport that sends nothing.
type refusing struct{}

// RoundTrip implements http.RoundTripper.
func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("not a registry")
}

// If the log or the authority fails, no tag moves.
func TestSignLogFails(t *testing.T) {
	_, otherPEM := remotetest.ECDSAKey(t)
	const down = "http://" + remotetest.Nobody
	cases := map[string]struct {
		reason string
		change func(l *remotetest.Log, o *push.Options)
		want   string
	}{
		"Down":     {"the log does not respond", func(_ *remotetest.Log, o *push.Options) { o.Log.URL = down }, `transparency log "` + down + `": the server did not respond: `},
		"NoKey":    {"the log has no key", func(l *remotetest.Log, o *push.Options) { o.Log.Key, l.PEM = nil, []byte("x") }, "getting the key of the transparency log"},
		"WrongKey": {"the key is of another log", func(_ *remotetest.Log, o *push.Options) { o.Log.Key = otherPEM }, "the entry is of the log"},
		"Lie": {"the log lies about the time", func(l *remotetest.Log, _ *push.Options) {
			l.Change = func(e *remotetest.Entry) { e.IntegratedTime++ }
		}, "the signed entry timestamp is not by the log's key"},
		"Inclusion": {"the log signs a promise, but its inclusion proof is of another entry", func(l *remotetest.Log, _ *push.Options) {
			l.Change = func(e *remotetest.Entry) { e.Verification.InclusionProof.LogIndex-- }
		}, "the inclusion proof is wrong: the log does not contain the entry"},
		"Refuses": {"the log refuses the entry", func(l *remotetest.Log, _ *push.Options) { l.Status = http.StatusBadRequest }, `400 Bad Request: "no service"`},
		"URL":     {"the address is not a URL", func(_ *remotetest.Log, o *push.Options) { o.Log.URL = "rekor" }, `reading the address of the transparency log "rekor": expected a URL such as https://HOST`},
		"Plain": {
			"a connection without TLS does not prove the key of a log", func(_ *remotetest.Log, o *push.Options) { o.Log.URL, o.Log.Key = "http://rekor.invalid", nil },
			`reading the address of the transparency log "http://rekor.invalid": expected https, because the responses of the server are trusted`,
		},
		"PlainAuthority": {
			"a token is not sent without TLS", func(_ *remotetest.Log, o *push.Options) {
				o.SignKey, o.Keyless = nil, &push.Keyless{URL: "http://fulcio.invalid", Token: "x"}
			},
			`reading the address of the certificate authority "http://fulcio.invalid": expected https`,
		},
		"Services": {
			"the client of registries does not send requests to a log", func(_ *remotetest.Log, o *push.Options) { o.Services = refusing{} },
			`the server did not respond: not a registry`,
		},
		"Ed25519": {
			"logs verify digests, which Ed25519 does not sign", func(_ *remotetest.Log, o *push.Options) { o.SignKey = remotetest.Key(t).Signer() },
			"a transparency log does not accept signatures by Ed25519 keys",
		},
		"NoSigner":   {"a log without a key is an error", func(_ *remotetest.Log, o *push.Options) { o.SignKey = nil }, "a transparency log needs a signature, and no key signs the package"},
		"InvalidKey": {"the key of the log is not one", func(_ *remotetest.Log, o *push.Options) { o.Log.Key = []byte("x") }, "expected a public key in PEM"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := remotetest.ServeLog(t)
			ref := parse(t, remotetest.Serve(t, remotetest.Handler()))
			o := fast()
			o.SignKey, o.Log = remotetest.SignKey(t).Signer(), &push.Log{URL: log.URL, Key: log.PEM}
			tc.change(log, &o)
			a := single(t)
			_, err := push.Artifact(t.Context(), ref, a, o)
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
			if isAt(t, ref, a) {
				t.Errorf("%s: the tag moved", tc.reason)
			}
		})
	}
}
