package python

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/csv"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// A File is a file, or a symbolic link, of an installation. Its content may differ from Digest.
type File struct {
	runtimeimage.TarFile
	// Digest is the digest of the content as in RECORD: "sha256=" and base64.
	Digest string
	// Source is the path in the project, with slashes. It is empty for other files.
	Source string
}

// NewFile returns a file with this content.
func NewFile(name string, mode int64, data []byte) File {
	sum := sha256.Sum256(data)
	return File{TarFile: runtimeimage.NewTarFile(name, mode, data), Digest: "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:])}
}

// hashes are the algorithms that RECORD may use: SHA-256 or better.
var hashes = map[string]func() hash.Hash{"sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New}

// newHash returns the hash function and the expected sum of a digest.
func newHash(digest string) (hash.Hash, string, error) {
	name, sum, _ := strings.Cut(digest, "=")
	create, ok := hashes[name]
	if !ok {
		return nil, "", fmt.Errorf("RECORD has the digest %q, expected one of sha256", digest)
	}
	return create(), strings.TrimRight(sum, "="), nil
}

var errDigest = errors.New("the content differs from the digest in RECORD")

func (w *wheel) readRecord() error {
	text, err := w.read("RECORD")
	if err != nil {
		return err
	}
	rows := csv.NewReader(strings.NewReader(text))
	rows.FieldsPerRecord = -1
	w.digests = map[string]string{}
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("parsing RECORD: %w", err)
		}
		if len(row) < 2 || row[1] == "" || len(w.digests) > maxFiles {
			continue
		}
		if _, _, err := newHash(row[1]); err != nil {
			return err
		}
		w.digests[row[0]] = row[1]
	}
}

// withRecord returns the files with the metadata that an installer adds to the folder info in
// site: RECORD lists all files. The files are sorted by path.
func withRecord(files []File, site, info string) []File {
	all := append(slices.Clone(files), NewFile(path.Join(site, info, "INSTALLER"), 0o644, []byte("xfn\n")))
	sortFiles(all)
	var text bytes.Buffer
	rows := csv.NewWriter(&text)
	for _, f := range all {
		// csv.Writer returns the errors of its buffer, which has none.
		_ = rows.Write([]string{strings.TrimPrefix(f.Path, site+"/"), f.Digest, strconv.FormatInt(f.Size, 10)})
	}
	_ = rows.Write([]string{info + "/RECORD", "", ""})
	rows.Flush()
	all = append(all, NewFile(path.Join(site, info, "RECORD"), 0o644, text.Bytes()))
	sortFiles(all)
	return all
}

func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}
