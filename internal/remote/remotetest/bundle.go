package remotetest

import (
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"strconv"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// Bundle returns the JSON of a Sigstore bundle with an envelope and its entry in a log, as cosign
// v3 writes it. The certificate, in PEM, may be nil. change, if not nil, changes the entry.
func Bundle(t testing.TB, envelope, certificate []byte, e Entry, change func(entry map[string]any)) []byte {
	t.Helper()
	raw := func(text string) []byte { return e2e.Must(hex.DecodeString(text))(t) }
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	p := e.Verification.InclusionProof
	hashes := [][]byte{}
	for _, h := range p.Hashes {
		hashes = append(hashes, raw(h))
	}
	entry := object{
		"logIndex": number(e.LogIndex), "logId": object{"keyId": raw(e.LogID)}, "integratedTime": number(e.IntegratedTime),
		"kindVersion": object{"kind": "dsse", "version": "0.0.1"}, "canonicalizedBody": e.Body,
		"inclusionPromise": object{"signedEntryTimestamp": e.Verification.SignedEntryTimestamp},
		"inclusionProof": object{
			"logIndex": number(p.LogIndex), "treeSize": number(p.TreeSize), "rootHash": raw(p.RootHash), "hashes": hashes,
			"checkpoint": object{"envelope": p.Checkpoint},
		},
	}
	if change != nil {
		change(entry)
	}
	material := object{"publicKey": object{"hint": "x"}, "tlogEntries": []object{entry}}
	if block, _ := pem.Decode(certificate); block != nil {
		material = object{"certificate": object{"rawBytes": block.Bytes}, "tlogEntries": []object{entry}}
	}
	text, err := json.Marshal(object{
		"mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json", "verificationMaterial": material, "dsseEnvelope": json.RawMessage(envelope),
	})
	e2e.NoError(t, err)
	return text
}
