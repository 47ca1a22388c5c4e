package docker_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	api "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/progress"
)

// steps returns the recorded progress steps that are equal to text.
func (p place) steps(text string) []string {
	return slices.DeleteFunc(p.events.texts(progress.Step), func(s string) bool { return s != text })
}

// writeTarball writes an image to a file in the format of docker save.
func writeTarball(t *testing.T, path string, img v1.Image) {
	t.Helper()
	tag := e2e.Must(name.NewTag("example.org/acme/f:v1"))(t)
	e2e.NoError(t, tarball.WriteToFile(path, tag, img))
}

// foreignProgram returns a program for a CPU that no engine has.
func foreignProgram() []byte {
	const header, entry = 64, 56
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_68K), Version: uint32(elf.EV_CURRENT),
		Phoff: header, Ehsize: header, Phentsize: entry, Phnum: 1,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var program bytes.Buffer
	_ = binary.Write(&program, binary.LittleEndian, h)
	_ = binary.Write(&program, binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_LOAD), Filesz: header, Memsz: header})
	return program.Bytes()
}

// Port 9443, published as docker create -p 127.0.0.1::9443 does.
var (
	port    = network.MustParsePort("9443/tcp")
	exposed = network.PortSet{port: {}}
	bound   = network.PortMap{port: {{HostIP: netip.MustParseAddr("127.0.0.1")}}}
)

// configOf returns the container configuration that the runtime uses for an image.
func configOf(image string) *api.Config {
	return &api.Config{Image: image, Cmd: []string{"--insecure"}}
}

func in(network string) *api.HostConfig {
	return &api.HostConfig{NetworkMode: api.NetworkMode(network)}
}
