package cache

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image/lock"
)

// checked is what --check found.
type checked struct {
	LockFile string       `json:"lockFile"`
	UpToDate bool         `json:"upToDate"`
	Missing  []string     `json:"missing"`
	Unused   []lock.Image `json:"unused"`
}

// check prints what a plan would change, and is an error if that is anything.
func (c *LockCmd) check(term *terminal.Terminal, before *lock.Lock, plan lock.Plan, text []byte) error {
	result := checked{LockFile: c.LockFile, Missing: []string{}, Unused: []lock.Image{}}
	for _, w := range plan.Missing {
		result.Missing = append(result.Missing, w.String())
	}
	result.Unused = append(result.Unused, lock.Compare(before, &plan.Kept).Removed...)
	want, err := plan.Kept.Encode()
	if err != nil {
		return err
	}
	same := bytes.Equal(body(want), body(text))
	result.UpToDate = len(result.Missing)+len(result.Unused) == 0 && same
	err = c.Print(term.Stdout, result, func(w io.Writer) error {
		var lines []string
		for _, name := range result.Missing {
			lines = append(lines, "missing "+name)
		}
		for _, i := range result.Unused {
			lines = append(lines, "unused "+describe(i))
		}
		return write(w, lines)
	})
	switch {
	case err != nil || result.UpToDate:
		return err
	default:
		return hint.Wrap(fmt.Errorf("lock file %q is not up to date: %s", c.LockFile, outdated(result)), "run xfn lock "+strings.Join(c.Files, " "))
	}
}

// body returns a lock file's text without its first line, a comment, and with the
// line endings that Encode writes.
func body(text []byte) []byte {
	if bytes.HasPrefix(text, []byte("#")) {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
}

func outdated(c checked) string {
	if len(c.Missing)+len(c.Unused) == 0 {
		return "xfn lock would write the same images otherwise"
	}
	return fmt.Sprintf("%s missing, %d unused", terminal.Count(len(c.Missing), "image"), len(c.Unused))
}

func describe(i lock.Image) string {
	text := i.Reference + " " + i.Digest
	if i.Constraint != "" {
		text += " for " + i.Constraint
	}
	return text
}

// print prints what changed in the lock file.
func (c *LockCmd) print(term *terminal.Terminal, changes lock.Changes) error {
	value := struct {
		LockFile string `json:"lockFile"`
		lock.Changes
	}{c.LockFile, changes}
	err := c.Print(term.Stdout, value, func(w io.Writer) error {
		var lines []string
		for _, i := range changes.Added {
			lines = append(lines, "added "+describe(i))
		}
		for _, u := range changes.Updated {
			lines = append(lines, "updated "+describe(u.Image)+", was "+describe(u.Was))
		}
		for _, i := range changes.Removed {
			lines = append(lines, "removed "+describe(i))
		}
		return write(w, lines)
	})
	if err != nil {
		return err
	}
	term.Note(fmt.Sprintf("%s: %d added, %d updated, %d removed, %d kept", c.LockFile, len(changes.Added), len(changes.Updated), len(changes.Removed), changes.Kept))
	return nil
}

func write(w io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}
