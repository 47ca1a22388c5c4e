package signature

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sigstore/sigstore/pkg/cryptoutils"
	sigstore "github.com/sigstore/sigstore/pkg/signature"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// A LogBundle proves that a log has an entry. Its JSON is the value of cosign's annotation
// dev.sigstore.cosign/bundle.
type LogBundle struct {
	// SignedEntryTimestamp is the log's signature of the JSON of Payload.
	SignedEntryTimestamp []byte
	Payload              LogPayload
	// InclusionProof proves that the entry is in the log's tree. It is nil in the annotation, for
	// which cosign defines no such field.
	InclusionProof *inclusion `json:",omitempty"`
}

// A LogPayload is an entry and its place in the log. The fields are in the order of
// canonical JSON (RFC 8785), which the log signs.
type LogPayload struct {
	// Body is the JSON of the entry.
	Body []byte `json:"body"`
	// IntegratedTime is when the log added the entry, in seconds since 1970.
	IntegratedTime int64 `json:"integratedTime"`
	// LogID is the SHA-256 of the log's public key (PKIX), in hex.
	LogID    string `json:"logID"`
	LogIndex int64  `json:"logIndex"`
}

// MaxLogBundle limits the bytes of the JSON of a LogBundle.
const MaxLogBundle = 128 << 10

// A LogKey is the public key of a log.
type LogKey struct {
	verifier sigstore.Verifier
	id       [sha256.Size]byte
}

// ParseLogKey parses the public key of a log, in PEM (PKIX).
func ParseLogKey(text []byte) (*LogKey, error) {
	public, err := cryptoutils.UnmarshalPEMToPublicKey(text)
	if err != nil {
		return nil, errors.New("expected a public key in PEM")
	}
	return NewLogKey(public)
}

// NewLogKey returns the LogKey of a log with this public key.
func NewLogKey(public crypto.PublicKey) (*LogKey, error) {
	verifier, err := sigstore.LoadVerifier(public, crypto.SHA256)
	if err != nil {
		return nil, errors.New("the kind of key is not supported")
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		return nil, errors.New("the kind of key is not supported")
	}
	return &LogKey{verifier, sha256.Sum256(der)}, nil
}

func (k *LogKey) hasSigned(text, value []byte) bool {
	return k.verifier.VerifySignature(bytes.NewReader(value), bytes.NewReader(text)) == nil
}

// Verify verifies that the log with this key has the entry e, and returns when the log added
// it. bundle is the JSON of a LogBundle. Its inclusion proof is verified if it has one.
func (k *LogKey) Verify(bundle []byte, e LogEntry) (time.Time, error) {
	var b LogBundle
	if err := json.Unmarshal(bundle, &b); err != nil || len(bundle) > MaxLogBundle {
		return time.Time{}, errors.New("the log entry is not a valid bundle")
	}
	return time.Unix(b.Payload.IntegratedTime, 0), k.verify(b, e)
}

func (k *LogKey) verify(b LogBundle, e LogEntry) error {
	if err := k.verifyTimestamp(b); err != nil {
		return err
	}
	if b.InclusionProof != nil {
		if err := k.verifyInclusion(b.Payload.Body, *b.InclusionProof); err != nil {
			return err
		}
	}
	return e.verify(b.Payload.Body)
}

func (k *LogKey) verifyTimestamp(b LogBundle) error {
	if id := hex.EncodeToString(k.id[:]); b.Payload.LogID != id {
		return fmt.Errorf("the entry is of the log %q, expected %s", b.Payload.LogID, id)
	}
	signed, err := json.Marshal(b.Payload)
	if err != nil {
		return fmt.Errorf("encoding the entry: %w", err)
	}
	if len(b.SignedEntryTimestamp) == 0 {
		return errors.New("the entry has no signed entry timestamp, so the log does not prove its time")
	}
	if !k.hasSigned(signed, b.SignedEntryTimestamp) {
		return errors.New("the signed entry timestamp is not by the log's key, or the entry was changed")
	}
	return nil
}

// inclusion is the proof that the entry is in the log's tree.
type inclusion struct {
	Checkpoint string   `json:"checkpoint"`
	Hashes     []string `json:"hashes"`
	LogIndex   int64    `json:"logIndex"`
	RootHash   string   `json:"rootHash"`
	TreeSize   int64    `json:"treeSize"`
}

// verifyInclusion verifies that an entry is in the tree that the log signed.
func (k *LogKey) verifyInclusion(body []byte, p inclusion) error {
	tree, err := k.openCheckpoint(p.Checkpoint)
	if err != nil {
		return err
	}
	root, err := parseHash(p.RootHash)
	if err != nil || tree.N != p.TreeSize || tree.Hash != root {
		return errors.New("the inclusion proof and the log's checkpoint are about different trees")
	}
	proof := make(tlog.RecordProof, len(p.Hashes))
	for i, h := range p.Hashes {
		if proof[i], err = parseHash(h); err != nil {
			return err
		}
	}
	if p.LogIndex < 0 || p.LogIndex >= p.TreeSize || tlog.CheckRecord(proof, p.TreeSize, root, p.LogIndex, tlog.RecordHash(body)) != nil {
		return errors.New("the inclusion proof is wrong: the log does not contain the entry")
	}
	return nil
}

func parseHash(text string) (h tlog.Hash, err error) {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(h) {
		return h, errors.New("the inclusion proof has an invalid hash")
	}
	copy(h[:], raw)
	return h, nil
}

// openCheckpoint verifies a signed note with the tree's size and root hash, as
// transparency-dev/formats describes it. Rekor's note has the origin, the size, the root
// hash in base64 and further lines.
func (k *LogKey) openCheckpoint(text string) (t tlog.Tree, err error) {
	n, err := note.Open([]byte(text), logVerifier{key: k})
	if err != nil {
		return t, errors.New("the log's checkpoint is not by the log's key")
	}
	lines := strings.Split(n.Text, "\n")
	if len(lines) < 4 {
		return t, errors.New("the log's checkpoint is not valid")
	}
	_, err = fmt.Sscanf(lines[1], "%d", &t.N)
	raw, rootErr := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || rootErr != nil || len(raw) != len(t.Hash) {
		return t, errors.New("the log's checkpoint is not valid")
	}
	copy(t.Hash[:], raw)
	return t, nil
}

// A logVerifier accepts the signature of a note by the key, with any name.
type logVerifier struct {
	key  *LogKey
	name string
}

// Verifier implements note.Verifiers.
func (v logVerifier) Verifier(name string, hash uint32) (note.Verifier, error) {
	if hash != v.KeyHash() {
		return nil, &note.UnknownVerifierError{Name: name, KeyHash: hash}
	}
	return logVerifier{v.key, name}, nil
}

// Name implements note.Verifier.
func (v logVerifier) Name() string { return v.name }

// KeyHash implements note.Verifier. Rekor uses the first bytes of the log's ID.
func (v logVerifier) KeyHash() uint32 { return binary.BigEndian.Uint32(v.key.id[:]) }

// Verify implements note.Verifier.
func (v logVerifier) Verify(msg, sig []byte) bool { return v.key.hasSigned(msg, sig) }
