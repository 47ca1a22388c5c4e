package registry

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// A journal is a file of JSON lines. A change is written before it is applied,
// so the last line may be unconfirmed: without its newline, because the process
// was killed during the write.
type journal struct {
	path string
	// broken is the error after which nothing can be added, because the end
	// of the file is unknown.
	broken error
}

// add appends c to the file, completely or not at all, and syncs it to disk.
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
	if err = errors.Join(err, f.Close()); err == nil {
		return nil
	}
	if cut := os.Truncate(j.path, at); cut != nil {
		// A line after an unconfirmed one could not be read.
		j.broken = fmt.Errorf("the registry accepts no changes until it is restarted, because its journal cannot be repaired: %w", cut)
	}
	return errors.Join(err, j.broken)
}

// read calls do for each change, and truncates an unconfirmed last line.
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
		if err = json.Unmarshal(line, &c); err == nil {
			if err = do(c); err != nil {
				err = fmt.Errorf("%s of %s in %s: %w", c.Method, c.Reference, c.Repository, err)
			}
		}
		if err != nil {
			return fmt.Errorf("reading registry journal %q, line %d: %w", j.path, n, err)
		}
		whole += int64(len(line))
	}
}
