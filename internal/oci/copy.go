package oci

import "io"

const (
	copyBlocks    = 4
	copyBlockSize = 512 << 10
)

// Copy copies src to dst as io.Copy does, and reads ahead of what it writes, so
// that a digest is taken beside writing. It returns once it reads no more.
func Copy(dst io.Writer, src io.Reader) (int64, error) {
	full, idle, stop := make(chan []byte, copyBlocks), make(chan []byte, copyBlocks), make(chan struct{})
	for range copyBlocks {
		idle <- nil
	}
	var failed error
	go func() {
		defer close(full)
		failed = readBlocks(src, full, idle, stop)
	}()
	n, err := writeBlocks(dst, full, idle)
	close(stop)
	for range full {
		// Until the reader has seen it.
	}
	if err == nil {
		err = failed
	}
	return n, err
}

func readBlocks(src io.Reader, full chan<- []byte, idle <-chan []byte, stop <-chan struct{}) error {
	for {
		var block []byte
		select {
		case <-stop:
			return nil
		case block = <-idle:
		}
		if block == nil {
			block = make([]byte, copyBlockSize)
		}
		n, err := fill(block[:cap(block)], src)
		full <- block[:n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// fill is io.ReadFull with the reader's own error.
func fill(block []byte, src io.Reader) (n int, err error) {
	for n < len(block) && err == nil {
		var k int
		k, err = src.Read(block[n:])
		n += k
	}
	return n, err
}

func writeBlocks(dst io.Writer, full <-chan []byte, idle chan<- []byte) (n int64, err error) {
	for block := range full {
		k, err := dst.Write(block)
		n += int64(k)
		if err != nil {
			return n, err
		}
		idle <- block
	}
	return n, nil
}
