package signature

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A Log is a server of a transparency log.
type Log struct {
	Server
	// Key is the log's key. If it is nil, Add uses the key that the server returns.
	Key *LogKey
}

// Trust sets Key to the key that the server returns, if Key is nil.
func (l *Log) Trust(ctx context.Context) error {
	if l.Key != nil {
		return nil
	}
	resp, err := l.Get(ctx, "api/v1/log/publicKey", http.StatusOK)
	if err == nil {
		l.Key, err = ParseLogKey(resp.Body)
	}
	if err != nil {
		return fmt.Errorf("getting the key of the transparency log %q: %w", l.URL, err)
	}
	return nil
}

// Add adds e to the log, or finds it there, and verifies the log's proofs. It returns the
// JSON of a LogBundle. Callers must have called Trust.
//
// An error is one sentence that names the server.
func (l *Log) Add(ctx context.Context, e LogEntry) ([]byte, error) {
	bundle, err := l.add(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("adding the signature to the transparency log %q: %w", l.URL, err)
	}
	return bundle, nil
}

const entriesPath = "api/v1/log/entries"

func (l *Log) add(ctx context.Context, e LogEntry) ([]byte, error) {
	resp, err := l.Post(ctx, entriesPath, e.request(), http.StatusCreated, http.StatusConflict)
	if err != nil {
		return nil, err
	}
	if resp.Code == http.StatusConflict { // The log has the entry already.
		at := resp.Header.Get("Location")
		id := at[strings.LastIndex(at, "/")+1:]
		if id == "" {
			return nil, errors.New("the log has the entry already, but does not say where")
		}
		if resp, err = l.Get(ctx, entriesPath+"/"+id, http.StatusOK); err != nil {
			return nil, err
		}
	}
	return l.Key.bundle(resp.Body, e)
}

type entry struct {
	LogPayload
	Verification struct {
		InclusionProof       *inclusion `json:"inclusionProof"`
		SignedEntryTimestamp []byte     `json:"signedEntryTimestamp"`
	} `json:"verification"`
}

func (k *LogKey) bundle(raw []byte, e LogEntry) ([]byte, error) {
	var all map[string]entry
	if err := json.Unmarshal(raw, &all); err != nil || len(all) != 1 {
		return nil, errors.New("the response is not one log entry")
	}
	got := slices.Collect(maps.Values(all))[0]
	b := LogBundle{got.Verification.SignedEntryTimestamp, got.LogPayload, got.Verification.InclusionProof}
	if b.InclusionProof == nil {
		return nil, errors.New("the response has no inclusion proof")
	}
	if err := k.verify(b, e); err != nil {
		return nil, err
	}
	b.InclusionProof = nil
	return json.Marshal(b)
}
