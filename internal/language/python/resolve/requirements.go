package resolve

import (
	"fmt"
	"path"
	"strings"
)

// ParseRequirements parses a requirements.txt in which each package has one version and
// SHA-256 hashes, as pip-compile --generate-hashes and uv export write it.
func ParseRequirements(file string, data []byte) (*Lock, error) {
	l := &Lock{File: file}
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		first := i + 1
		line, more := strings.CutSuffix(uncomment(lines[i]), `\`)
		for more && i+1 < len(lines) {
			i++
			var next string
			next, more = strings.CutSuffix(uncomment(lines[i]), `\`)
			line += " " + next
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if err := l.addLine(line); err != nil {
			return nil, fmt.Errorf("parsing %s:%d: %w", file, first, err)
		}
	}
	return l, nil
}

// uncomment removes a comment and the spaces around a line.
func uncomment(line string) string {
	if strings.HasPrefix(strings.TrimSpace(line), "#") {
		return ""
	}
	line, _, _ = strings.Cut(line, " #")
	return strings.TrimSpace(line)
}

func (l *Lock) addLine(line string) error {
	if strings.HasPrefix(line, "-") {
		return l.addOption(line)
	}
	text, options, hashed := strings.Cut(line, " --")
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "/") {
		l.addDirectory(text)
		return nil
	}
	r, err := ParseRequirement(strings.TrimSpace(text))
	if err != nil {
		return err
	}
	if local, ok := strings.CutPrefix(r.URL, "file:"); ok {
		l.addDirectory(local)
		return nil
	}
	v, pinned := r.Specifiers.Pinned()
	switch {
	case r.URL != "":
		return fmt.Errorf("package %q has a URL: expected a version, as in %s==1.0", r.Name, r.Name)
	case !pinned:
		return fmt.Errorf("package %q has no fixed version: expected %s==VERSION", r.Name, r.Name)
	case !hashed:
		return fmt.Errorf("package %q has no hash: expected one of the form sha256:HEX", r.Name)
	}
	p := Package{Name: r.Name, Version: v.String(), Marker: r.Marker}
	for option := range strings.SplitSeq(options, " --") {
		name, value, ok := strings.Cut(strings.TrimSpace(option), "=")
		if !ok {
			name, value, _ = strings.Cut(strings.TrimSpace(option), " ")
		}
		if name != "hash" {
			return fmt.Errorf("package %q has the unknown option --%s", r.Name, name)
		}
		hash, err := sha256Hex(strings.TrimSpace(value))
		if err != nil {
			return fmt.Errorf("package %q: %w", r.Name, err)
		}
		p.Hashes = append(p.Hashes, hash)
	}
	l.Packages = append(l.Packages, p)
	return nil
}

// addDirectory adds a source folder. Its name is in its own pyproject.toml.
func (l *Lock) addDirectory(at string) {
	l.Packages = append(l.Packages, Package{Directory: path.Clean(strings.TrimSpace(at))})
}

// addOption adds a line that begins with an option.
func (l *Lock) addOption(line string) error {
	name, value, ok := strings.Cut(line, "=")
	if !ok || strings.Contains(name, " ") {
		name, value, _ = strings.Cut(line, " ")
	}
	switch value = strings.TrimSpace(value); strings.TrimLeft(name, "-") {
	case "e", "editable":
		l.addDirectory(strings.TrimPrefix(value, "file:"))
	case "i", "index-url":
		l.Index = value
	case "require-hashes", "only-binary", "no-binary", "pre", "prefer-binary":
	default:
		return fmt.Errorf("option %s is not supported", name)
	}
	return nil
}
