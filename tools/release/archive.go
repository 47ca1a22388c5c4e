package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"fmt"
	"time"
)

func (f file) mode() int64 {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// writeTarball returns a compressed tar of files that belong to root and were modified at a time.
func writeTarball(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	w := tar.NewWriter(zw)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: f.mode(), Size: int64(len(f.data)), ModTime: at, Uname: "root", Gname: "root"}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), zw.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// writeZip returns a zip archive of files that were modified at a time.
func writeZip(files []file, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(0o644)
		if f.executable {
			h.SetMode(0o755)
		}
		part, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// checkFormat returns an error unless a program has the format of an operating system and the
// instructions of an architecture.
func checkFormat(program []byte, goos, arch string) error {
	r := bytes.NewReader(program)
	var got, want any
	switch goos {
	case "linux":
		f, err := elf.NewFile(r)
		if err != nil {
			return err
		}
		got, want = f.Machine, map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				return errors.New("the program is not static")
			}
		}
	case "darwin":
		f, err := macho.NewFile(r)
		if err != nil {
			return err
		}
		got, want = f.Cpu, map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[arch]
	case "windows":
		f, err := pe.NewFile(r)
		if err != nil {
			return err
		}
		got, want = f.Machine, map[string]uint16{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64}[arch]
	default:
		return fmt.Errorf("the file format of %s is unknown", goos)
	}
	if got != want {
		return fmt.Errorf("the program is for machine %v, want %v", got, want)
	}
	return nil
}
