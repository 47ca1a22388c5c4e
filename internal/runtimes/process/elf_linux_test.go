package process_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// elfOf returns an ELF program with a header, a segment and its content.
func elfOf(machine elf.Machine, segment elf.ProgType, content string) string {
	const header, entry = 64, 56
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Phoff: header, Ehsize: header, Phentsize: entry, Phnum: 1, Shentsize: 64,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	size := uint64(len(content))
	p := elf.Prog64{Type: uint32(segment), Flags: uint32(elf.PF_R), Off: header + entry, Filesz: size, Memsz: size, Align: 1}
	buf := &bytes.Buffer{}
	_ = binary.Write(buf, binary.LittleEndian, h)
	_ = binary.Write(buf, binary.LittleEndian, p)
	buf.WriteString(content)
	return buf.String()
}

func foreignProgram() string { return elfOf(elf.EM_68K, elf.PT_LOAD, "code") }

func dynamicProgram() string {
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[host.Architecture]
	return elfOf(machine, elf.PT_INTERP, "/no/such/loader.so\x00")
}
