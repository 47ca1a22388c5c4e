package remotetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/signature"
)

// A Log is a transparency log in memory.
type Log struct {
	// URL is the address of the server.
	URL string
	// Key is the log's key.
	Key *ecdsa.PrivateKey
	// PEM is the log's public key. File is a file with it.
	PEM  []byte
	File string
	// Change, if not nil, changes each response of an entry.
	Change func(*Entry)
	// Status, if not 0, is the status of all responses.
	Status int

	mu     sync.Mutex
	bodies [][]byte
	at     map[string]int // the index of each body
	id     []byte         // the ID of the log
	hashes []tlog.Hash
}

// An Entry is an entry in a response.
type Entry struct {
	Body           []byte `json:"body"`
	IntegratedTime int64  `json:"integratedTime"`
	LogID          string `json:"logID"`
	LogIndex       int64  `json:"logIndex"`
	Verification   struct {
		InclusionProof       *Inclusion `json:"inclusionProof,omitempty"`
		SignedEntryTimestamp []byte     `json:"signedEntryTimestamp"`
	} `json:"verification"`
}

// An Inclusion is the inclusion proof of an Entry.
type Inclusion struct {
	Checkpoint string   `json:"checkpoint"`
	Hashes     []string `json:"hashes"`
	LogIndex   int64    `json:"logIndex"`
	RootHash   string   `json:"rootHash"`
	TreeSize   int64    `json:"treeSize"`
}

// ECDSAKey returns a new key, and its public key in PEM.
func ECDSAKey(t testing.TB) (*ecdsa.PrivateKey, []byte) {
	t.Helper()
	key := e2e.Must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	der := e2e.Must(x509.MarshalPKIXPublicKey(key.Public()))(t)
	return key, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
}

// SignKey returns a new key of a kind that logs accept.
func SignKey(t testing.TB) *signature.PrivateKey {
	t.Helper()
	key := e2e.Must(signature.Generate())(t)
	return key
}

// ServeLog starts a log that has some entries already.
func ServeLog(t testing.TB) *Log {
	t.Helper()
	l := &Log{at: map[string]int{}}
	l.Key, l.PEM = ECDSAKey(t)
	l.File = filepath.Join(t.TempDir(), "rekor.pub")
	e2e.NoError(t, os.WriteFile(l.File, l.PEM, 0o600))
	l.id = sum(e2e.Must(x509.MarshalPKIXPublicKey(l.Key.Public()))(t))
	for i := range 5 {
		l.add(fmt.Appendf(nil, "entry %d", i))
	}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	l.URL = server.URL
	return l
}

// Len returns the number of entries.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.bodies)
}

// ServeHTTP implements http.Handler.
func (l *Log) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case l.Status != 0:
		http.Error(w, `{"code":1,"message":"no\nservice"}`, l.Status)
	case r.Method == http.MethodGet && r.URL.Path == "/api/v1/log/publicKey":
		_, _ = w.Write(l.PEM)
	case r.Method == http.MethodPost && r.URL.Path == "/api/v1/log/entries":
		body, err := record(r.Body)
		if err != nil {
			http.Error(w, fmt.Sprintf(`{"code":400,"message":%q}`, err), http.StatusBadRequest)
			return
		}
		l.mu.Lock()
		_, had := l.at[string(body)]
		l.mu.Unlock()
		if had {
			w.Header().Set("Location", "/api/v1/log/entries/"+idOf(body))
			w.WriteHeader(http.StatusConflict)
			return
		}
		l.respond(w, http.StatusCreated, body)
	case r.Method == http.MethodGet:
		l.mu.Lock()
		bodies := l.bodies
		l.mu.Unlock()
		for _, b := range bodies {
			if r.URL.Path == "/api/v1/log/entries/"+idOf(b) {
				l.respond(w, http.StatusOK, b)
				return
			}
		}
		http.NotFound(w, r)
	default:
		http.NotFound(w, r)
	}
}

func idOf(body []byte) string { return hex.EncodeToString(sum(body)) }

func sum(text []byte) []byte {
	s := sha256.Sum256(text)
	return s[:]
}

func (l *Log) respond(w http.ResponseWriter, code int, body []byte) {
	e := l.add(body)
	if l.Change != nil {
		l.Change(&e)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]Entry{idOf(body): e})
}

// add adds a body unless the log has it, and returns its entry.
func (l *Log) add(body []byte) (e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, had := l.at[string(body)]
	if !had {
		i = len(l.bodies)
		more, _ := tlog.StoredHashes(int64(i), body, tlog.HashReaderFunc(l.read)) // read has no errors.
		l.bodies, l.at[string(body)], l.hashes = append(l.bodies, body), i, append(l.hashes, more...)
	}
	size := int64(len(l.bodies))
	root, _ := tlog.TreeHash(size, tlog.HashReaderFunc(l.read))
	proof, _ := tlog.ProveRecord(size, int64(i), tlog.HashReaderFunc(l.read))
	// The global index counts the entries of all shards of a log.
	const otherShards = 1000
	e = Entry{Body: body, IntegratedTime: time.Now().Unix(), LogID: hex.EncodeToString(l.id), LogIndex: int64(i) + otherShards}
	e.Sign(l.Key)
	e.Verification.InclusionProof = &Inclusion{LogIndex: int64(i), RootHash: hex.EncodeToString(root[:]), TreeSize: size, Checkpoint: l.checkpoint(size, root)}
	for _, h := range proof {
		e.Verification.InclusionProof.Hashes = append(e.Verification.InclusionProof.Hashes, hex.EncodeToString(h[:]))
	}
	return e
}

func (l *Log) read(indexes []int64) (hashes []tlog.Hash, err error) {
	for _, i := range indexes {
		hashes = append(hashes, l.hashes[i])
	}
	return hashes, nil
}

// Sign sets the signed entry timestamp.
func (e *Entry) Sign(key *ecdsa.PrivateKey) {
	// json.Marshal sorts the keys, as canonical JSON requires.
	text, _ := json.Marshal(object{"body": e.Body, "integratedTime": e.IntegratedTime, "logID": e.LogID, "logIndex": e.LogIndex})
	e.Verification.SignedEntryTimestamp = sign(key, text)
}

func sign(key *ecdsa.PrivateKey, text []byte) []byte {
	s, err := ecdsa.SignASN1(rand.Reader, key, sum(text))
	if err != nil {
		panic(err)
	}
	return s
}

func (l *Log) checkpoint(size int64, root tlog.Hash) string {
	text := fmt.Sprintf("log.example.org - 42\n%d\n%s\n", size, base64.StdEncoding.EncodeToString(root[:]))
	signed := append(slices.Clone(l.id[:4]), sign(l.Key, []byte(text))...)
	return text + "\n— log.example.org " + base64.StdEncoding.EncodeToString(signed) + "\n"
}
