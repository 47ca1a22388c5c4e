package fsx

import (
	"fmt"
	"io"
	"os"
)

// ReadFile reads a file of at most limit bytes. Its errors do not name the file.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Cause(err)
	}
	defer func() { _ = f.Close() }() // An error of closing a file that was only read does not matter.
	return ReadAll(f, limit)
}

// ReadAll reads at most limit bytes. More are an error.
func ReadAll(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch n := int64(len(data)); {
	case err != nil:
		return nil, Cause(err)
	case n > limit && limit < 1<<20:
		return nil, fmt.Errorf("the file is larger than %d KiB", limit>>10)
	case n > limit:
		return nil, fmt.Errorf("the file is larger than %d MiB", limit>>20)
	}
	return data, nil
}
