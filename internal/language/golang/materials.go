package golang

import (
	"debug/buildinfo"
	"fmt"
	"strings"

	"github.com/xfn-dev/xfn/internal/language"
)

// record adds the modules of a program and the Go standard library to the materials.
func (c *compiler) record(program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("reading the modules of the program: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if m.Version != "" && m.Version != "(devel)" { // else a folder replaces the module
			c.add(m.Path, m.Version, m.Sum)
		}
	}
	return nil
}

func (c *compiler) add(name, version, sum string) {
	version, _, _ = strings.Cut(version, " ") // "1.26.0 X:experiment"
	purl := "pkg:golang/" + name + "@" + version
	c.materials[purl] = language.Material{Name: name, Version: version, PURL: purl, Digest: sum}
}
