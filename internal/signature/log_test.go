package signature_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
	"github.com/xfn-dev/xfn/internal/signature"
)

// logEntry returns the entry for a new signature by a new key.
func logEntry(t testing.TB) signature.LogEntry {
	t.Helper()
	k := remotetest.SignKey(t)
	s := e2e.Must(k.Sign(repo(t), digest))(t)
	return signature.HashedEntry(s.Payload, s.Value, e2e.Must(k.VerifierPEM())(t))
}

func logOf(t testing.TB, served *remotetest.Log, key []byte) *signature.Log {
	t.Helper()
	l := &signature.Log{}
	l.URL = e2e.Must(signature.ParseServerURL(served.URL))(t)
	if key != nil {
		l.Key = e2e.Must(signature.ParseLogKey(key))(t)
	}
	return l
}

// A log adds an entry, and its bundle is valid for this entry only. An entry that the log
// has already is found.
func TestLogAdd(t *testing.T) {
	served := remotetest.ServeLog(t)
	l, e := logOf(t, served, nil), logEntry(t)
	e2e.NoError(t, l.Trust(t.Context()))
	for range 2 {
		bundle := e2e.Must(l.Add(t.Context(), e))(t)
		at := e2e.Must(l.Key.Verify(bundle, e))(t)
		if time.Since(at).Abs() > time.Hour {
			t.Errorf("the log added the entry at %s", at)
		}
		e2e.Equal(t, "another entry is an error", "the entry is about another signature", fmt.Sprint(e2e.Err(l.Key.Verify(bundle, logEntry(t)))))
	}
	e2e.Equal(t, "each new signature has an entry in the log", 6, served.Len())
}

// Add returns an error for each lie of a log.
func TestLogLies(t *testing.T) {
	other, otherPEM := remotetest.ECDSAKey(t)
	cases := map[string]struct {
		reason string
		change func(l *remotetest.Log, e *remotetest.Entry)
		want   string
	}{
		"Timestamp": {
			"the signature of the timestamp is by another key", func(_ *remotetest.Log, e *remotetest.Entry) { e.Sign(other) },
			"the signed entry timestamp is not by the log's key, or the entry was changed",
		},
		"Time": {
			"the time was changed after it was signed", func(_ *remotetest.Log, e *remotetest.Entry) { e.IntegratedTime++ },
			"the signed entry timestamp is not by the log's key, or the entry was changed",
		},
		"LogID": {
			"the entry is of another log", func(_ *remotetest.Log, e *remotetest.Entry) { e.LogID = strings.Repeat("0", 64) },
			"the entry is of the log",
		},
		"OtherEntry": {"the log signs an entry that it has, but that is another one", func(l *remotetest.Log, e *remotetest.Entry) {
			e.Body = []byte(strings.Replace(string(e.Body), `"value":"`, `"value":"0`, 1))
			e.Sign(l.Key)
		}, "the inclusion proof is wrong: the log does not contain the entry"},
		"NoProof": {
			"the inclusion proof is missing", func(_ *remotetest.Log, e *remotetest.Entry) { e.Verification.InclusionProof = nil },
			"the response has no inclusion proof",
		},
		"Hash": {"a hash of the proof is wrong", func(_ *remotetest.Log, e *remotetest.Entry) {
			e.Verification.InclusionProof.Hashes[0] = strings.Repeat("0", 64)
		}, "the inclusion proof is wrong: the log does not contain the entry"},
		"Index": {
			"the index is outside of the tree", func(_ *remotetest.Log, e *remotetest.Entry) { e.Verification.InclusionProof.LogIndex = 6 },
			"the inclusion proof is wrong: the log does not contain the entry",
		},
		"Root": {"the root of the proof differs from the root of the checkpoint", func(_ *remotetest.Log, e *remotetest.Entry) {
			e.Verification.InclusionProof.RootHash = strings.Repeat("0", 64)
		}, "the inclusion proof and the log's checkpoint are about different trees"},
		"Checkpoint": {"the checkpoint was changed after it was signed", func(_ *remotetest.Log, e *remotetest.Entry) {
			e.Verification.InclusionProof.Checkpoint = "x" + e.Verification.InclusionProof.Checkpoint
		}, "the log's checkpoint is not by the log's key"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			served := remotetest.ServeLog(t)
			served.Change = func(e *remotetest.Entry) { tc.change(served, e) }
			_, err := logOf(t, served, served.PEM).Add(t.Context(), logEntry(t))
			e2e.ErrorHas(t, tc.reason, err, tc.want)
			e2e.ErrorHas(t, tc.reason, err, served.URL)
		})
	}
	served := remotetest.ServeLog(t)
	e2e.ErrorHas(t, "with the key of another log, the error is", e2e.Err(logOf(t, served, otherPEM).Add(t.Context(), logEntry(t))), "the entry is of the log")
	served.Status = http.StatusServiceUnavailable
	_, err := logOf(t, served, served.PEM).Add(t.Context(), logEntry(t))
	e2e.ErrorHas(t, "for an error of the server, the error is", err, `the server responded with 503 Service Unavailable: "no service"`)
}

// Verify must accept no changed bundle, and Add no changed response.
func FuzzLogKeyVerify(f *testing.F) {
	served := remotetest.ServeLog(f)
	l, e := logOf(f, served, served.PEM), logEntry(f)
	f.Add(e2e.Must(l.Add(f.Context(), e))(f))
	f.Add([]byte(`{"Payload":{"logID":""}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		e2e.Error(t, fmt.Sprintf("%q is valid for a new signature", text), e2e.Err(l.Key.Verify(text, logEntry(t))))
	})
}
