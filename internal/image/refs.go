package image

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
)

const (
	refsFolder = "refs"
	// maxRecord limits the bytes that are read of a record.
	maxRecord = 4 << 10
)

// A record is a file in the cache with the digest of a reference. The modification time of
// the file is the time when the reference was last used.
type record struct {
	Reference string `json:"reference"`
	// Digest is the digest of the manifest or index that the reference refers to.
	Digest v1.Hash `json:"digest"`
	// Resolved is the time when the registry returned that digest.
	Resolved time.Time `json:"resolved"`
}

type refs struct{ folder string }

func (r refs) file(reference string) string {
	return filepath.Join(r.folder, fmt.Sprintf("%x.json", sha256.Sum256([]byte(reference))))
}

// find returns the record of a reference. It returns false if the record does not exist or
// cannot be read. Such a record can be saved again.
func (r refs) find(reference string) (record, bool) {
	rec, err := readRecord(r.file(reference))
	return rec, err == nil && rec.Reference == reference
}

func readRecord(path string) (rec record, err error) {
	raw, err := fsx.ReadFile(path, maxRecord)
	if err != nil {
		return rec, err
	}
	return rec, json.Unmarshal(raw, &rec)
}

// save writes a record to the file of its reference, atomically.
func (r refs) save(rec record) error {
	raw, _ := json.Marshal(rec) // The time is that of this machine.
	return fsx.WriteFile(r.file(rec.Reference), 0o600, append(raw, '\n'))
}

// A recordFile is a record, the path of its file, and the time of its last use.
type recordFile struct {
	record
	path string
	used time.Time
}

// all returns the readable records, sorted by file name, and the paths of records that are
// damaged or were not completely written.
func (r refs) all() (records []recordFile, broken []string, err error) {
	entries, err := os.ReadDir(r.folder)
	if err != nil {
		return nil, nil, fsx.Cause(err)
	}
	for _, e := range entries {
		path := filepath.Join(r.folder, e.Name())
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || !e.Type().IsRegular() {
			continue
		}
		if err != nil {
			return nil, nil, fsx.Cause(err)
		}
		rec, err := readRecord(path)
		sum, isJSON := strings.CutSuffix(e.Name(), ".json")
		switch isRecord := isJSON && isSum(sum); {
		case fsx.IsTemporary(e.Name()), isRecord && (err != nil || r.file(rec.Reference) != path):
			broken = append(broken, path)
		case isRecord:
			records = append(records, recordFile{rec, path, info.ModTime()})
		}
	}
	return records, broken, nil
}
