package clone

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// maxObjects bounds what is kept in memory for each object beside its content.
const maxObjects = 1 << 20

// checkPack refuses a pack that unpacks to more than limit bytes, before
// anything of that size is made. A few kilobytes can stand for gigabytes.
func checkPack(pack []byte, limit int64) error {
	scanner := packfile.NewScanner(bytes.NewReader(pack))
	_, count, err := scanner.Header()
	if err != nil {
		return fmt.Errorf("reading what the server sent: %w", err)
	}
	if count > maxObjects {
		return fmt.Errorf("the repository has %d objects, more than the %d that are allowed", count, maxObjects)
	}
	left := limit
	for range count {
		header, err := scanner.NextObjectHeader()
		if err != nil {
			return fmt.Errorf("reading what the server sent: %w", err)
		}
		if left -= header.Length; header.Length < 0 || left < 0 {
			return tooLarge(limit)
		}
		var start head
		if _, _, err := scanner.NextObject(&start); err != nil {
			return fmt.Errorf("reading what the server sent: %w", err)
		}
		if !header.Type.IsDelta() {
			continue
		}
		if size := start.deltaSize(); size > uint64(left) {
			return tooLarge(limit)
		} else {
			left -= int64(size)
		}
	}
	return nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("the repository is larger than the %d bytes that are allowed", limit)
}

// A head keeps the first bytes that are written to it: of a delta, the sizes
// of what it starts from and of what it makes.
type head struct {
	kept []byte
}

func (h *head) Write(p []byte) (int, error) {
	if room := 2*binary.MaxVarintLen64 - len(h.kept); room > 0 {
		h.kept = append(h.kept, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

// deltaSize returns the size of what a delta makes, or 0 if it has none, which
// unpacking then refuses (git's pack format: two varints before the commands).
func (h *head) deltaSize() uint64 {
	_, n := binary.Uvarint(h.kept)
	if n <= 0 {
		return 0
	}
	size, _ := binary.Uvarint(h.kept[n:])
	return size
}
