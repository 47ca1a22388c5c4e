package registry

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// journal is a file of JSON lines. A change is written before it is done, so
// the last line may be one that was never confirmed: without its newline, as
// the process was killed while it wrote it.
type journal struct {
	path string
	// broken is why nothing can be added any more: the file's end is unknown.
	broken error
}

func journalIn(dir string) *journal { return &journal{path: filepath.Join(dir, journalFile)} }

// add writes c to the end of the file, wholly or not at all, and forces it to
// disk.
func (j *journal) add(c change) error {
	if j.broken != nil {
		return j.broken
	}
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(j.path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	at, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	if _, err = f.Write(append(line, '\n')); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, j.cut(at))
	}
	return nil
}

// cut removes what was added at and after at. If it cannot, nothing more is
// added: what follows an unconfirmed line could not be read.
func (j *journal) cut(at int64) error {
	if err := os.Truncate(j.path, at); err != nil {
		j.broken = fmt.Errorf("the registry takes no changes until it is started again, as its journal cannot be mended: %w", err)
	}
	return j.broken
}

// read calls do with each change, and cuts off an unconfirmed last line.
func (j *journal) read(do func(change) error) (err error) {
	f, err := os.OpenFile(j.path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading registry journal: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := bufio.NewReader(f)
	var whole int64
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return f.Truncate(whole)
		}
		if err != nil {
			return fmt.Errorf("reading registry journal: %w", err)
		}
		var c change
		if err := json.Unmarshal(line, &c); err != nil {
			return fmt.Errorf("reading registry journal %q, line %d: %w", j.path, n, err)
		}
		if err := do(c); err != nil {
			return fmt.Errorf("reading registry journal %q, line %d: %w", j.path, n, err)
		}
		whole += int64(len(line))
	}
}
