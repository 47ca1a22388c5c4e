package suite

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/suite/foreign"
)

// IsForeign reports whether a suite is a suite of another tool.
func (s *Suite) IsForeign() bool {
	return s.Suite != nil && s.IsConverted() || s.Suite == nil && foreign.IsXprin(s.Path)
}

// Convert returns the path and the text of a suite that has the cases of s, a suite of another
// tool. It is beside the file of s, because paths of a case are relative to its suite. Convert
// returns the errors of all cases that cannot be converted, each with its position.
func Convert(s *Suite) (path string, text []byte, err error) {
	if s.Err != nil {
		return "", nil, s.Err
	}
	file, err := s.File()
	if err != nil {
		return "", nil, err
	}
	var b bytes.Buffer
	if err := manifest.Write(&b, file); err != nil {
		return "", nil, err
	}
	return strings.TrimSuffix(s.Path, filepath.Ext(s.Path)) + ".xfn.yaml", b.Bytes(), nil
}
