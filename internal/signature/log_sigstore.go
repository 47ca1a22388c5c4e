package signature

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
)

// A BundleEntry is an entry of a log in a Sigstore bundle (sigstore/protobuf-specs,
// sigstore_rekor.proto, TransparencyLogEntry). JSON of protobuf has 64-bit numbers as strings.
type BundleEntry struct {
	LogIndex         json.Number
	LogID            struct{ KeyID []byte }
	IntegratedTime   json.Number
	InclusionPromise struct{ SignedEntryTimestamp []byte }
	InclusionProof   *struct {
		LogIndex, TreeSize json.Number
		RootHash           []byte
		Hashes             [][]byte
		Checkpoint         struct{ Envelope string }
	}
	CanonicalizedBody []byte
}

// Bundle returns the JSON of a LogBundle with the inclusion proof, which a Sigstore bundle must
// have. It verifies nothing.
func (e BundleEntry) Bundle() ([]byte, error) {
	p := e.InclusionProof
	if p == nil {
		return nil, errors.New("the entry has no inclusion proof")
	}
	// The JSON of a protobuf message has no field for the number 0.
	index, indexErr := cmp.Or(e.LogIndex, "0").Int64()
	at, atErr := cmp.Or(p.LogIndex, "0").Int64()
	size, sizeErr := p.TreeSize.Int64()
	if errors.Join(indexErr, atErr, sizeErr) != nil {
		return nil, errors.New("the entry has an invalid number")
	}
	time, _ := e.IntegratedTime.Int64() // A log without signed entry timestamps leaves it out.
	b := LogBundle{
		SignedEntryTimestamp: e.InclusionPromise.SignedEntryTimestamp,
		Payload:              LogPayload{e.CanonicalizedBody, time, hex.EncodeToString(e.LogID.KeyID), index},
		InclusionProof:       &inclusion{Checkpoint: p.Checkpoint.Envelope, LogIndex: at, RootHash: hex.EncodeToString(p.RootHash), TreeSize: size},
	}
	for _, h := range p.Hashes {
		b.InclusionProof.Hashes = append(b.InclusionProof.Hashes, hex.EncodeToString(h))
	}
	return json.Marshal(b)
}
