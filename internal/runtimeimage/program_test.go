package runtimeimage_test

import (
	"os"
	"path/filepath"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/runtimeimage"
)

// elf returns the header of an ELF executable for a machine (the field e_machine).
func elf(machine byte) []byte {
	header := make([]byte, 64)
	copy(header, "\x7fELF\x02\x01\x01")
	header[16], header[18] = 2, machine
	return header
}

// dynamic returns an ELF executable with one program header (Elf64_Phdr): the header of its loader.
func dynamic(machine byte) []byte {
	header := append(elf(machine), make([]byte, 56)...)
	header[20], header[32], header[52], header[54], header[56], header[64] = 1, 64, 64, 56, 1, 3
	return header
}

const (
	x86     = 62
	aarch   = 183
	unknown = 255
)

func TestFromPrograms(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string][]byte{"amd64": elf(x86), "arm64": elf(aarch), "dynamic": dynamic(x86), "strange": elf(unknown), "script": []byte("#!/bin/sh\n"), "empty": nil} {
		e2e.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o700))
	}
	cases := map[string]struct {
		reason    string
		files     []string
		platforms []v1.Platform
		want      string
	}{
		"Both":     {"each platform has its program", []string{"amd64", "arm64"}, []v1.Platform{amd64, arm64}, ""},
		"Swapped":  {"a program for another processor is an error", []string{"arm64"}, []v1.Platform{amd64}, "the program is for linux/arm64, not for linux/amd64"},
		"Strange":  {"a program for an unknown processor is an error", []string{"strange"}, []v1.Platform{amd64}, "expected an ELF executable"},
		"Script":   {"a script is an error, because the minimal image has no interpreter", []string{"script"}, []v1.Platform{amd64}, "expected an ELF executable"},
		"Dynamic":  {"the minimal image has no loader", []string{"dynamic"}, []v1.Platform{amd64}, "it needs a dynamic loader"},
		"Empty":    {"an empty file is an error", []string{"empty"}, []v1.Platform{amd64}, "expected an ELF executable"},
		"Absent":   {"a missing file is an error", []string{"absent"}, []v1.Platform{amd64}, "no such file"},
		"Folder":   {"a folder is an error", []string{"."}, []v1.Platform{amd64}, "expected a file"},
		"None":     {"no program is an error", nil, nil, "no platform is given"},
		"NotLinux": {"a platform that is not Linux is an error", []string{"amd64"}, []v1.Platform{{OS: "windows", Architecture: "amd64"}}, "expected a linux platform"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var programs []runtimeimage.Program
			for i, file := range tc.files {
				programs = append(programs, runtimeimage.Program{Platform: tc.platforms[i], File: filepath.Join(dir, file)})
			}
			images, err := runtimeimage.FromPrograms(t.Context(), nil, programs, runtimeimage.Config{}, options(t))
			if tc.want != "" {
				e2e.ErrorHas(t, tc.reason, err, tc.want)
				return
			}
			e2e.NoError(t, err)
			defer images.Close()
			for i, img := range images.All {
				e2e.NoError(t, validate.Image(img))
				files, data := contents(t, img)
				if want, _ := os.ReadFile(programs[i].File); string(data["function"]) != string(want) || files["function"].Mode != 0o755 {
					t.Errorf("%s: image %d has the program %+v", tc.reason, i, files["function"])
				}
			}
		})
	}
}
