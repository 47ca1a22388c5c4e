package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/xfn-dev/xfn/internal/hint"
)

type requirementsParser struct {
	*Lock
	read func(name string) ([]byte, error)
	seen map[inclusion]bool
}

// An inclusion is the name of a file, and whether it was included as a file of constraints.
type inclusion struct {
	name        string
	constraints bool
}

// ParseRequirements parses a requirements.txt in which each package has one version and
// SHA-256 hashes, as pip-compile --generate-hashes and uv export write it. read returns the
// files that it includes. Their names are relative to the folder of file.
func ParseRequirements(file string, data []byte, read func(name string) ([]byte, error)) (*Lock, error) {
	p := &requirementsParser{&Lock{File: file}, read, map[inclusion]bool{{file, false}: true}}
	return p.Lock, p.parse(file, data, p.addLine)
}

// parse calls add with each logical line of a file.
func (p *requirementsParser) parse(file string, data []byte, add func(file, line string) error) error {
	text := strings.TrimPrefix(string(data), "\ufeff")
	lines := strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
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
		if err := add(file, line); err != nil {
			return fmt.Errorf("parsing %s:%d: %w", file, first, err)
		}
	}
	return nil
}

func uncomment(line string) string {
	line = " " + strings.ReplaceAll(line, "\t", " ")
	line, _, _ = strings.Cut(line, " #")
	return strings.TrimSpace(line)
}

func (p *requirementsParser) addLine(file, line string) error {
	if strings.HasPrefix(line, "-") {
		return p.addOption(file, line)
	}
	text, options, _ := strings.Cut(line, " --")
	text = strings.TrimSpace(text)
	hashes, err := parseHashes(options)
	if err != nil {
		return fmt.Errorf("package %q: %w", text, err)
	}
	name, _, _ := strings.Cut(text, ";")
	name, _, _ = strings.Cut(name, "@")
	if strings.ContainsAny(name, "/:") || strings.HasPrefix(name, ".") {
		return p.addLocation("", text, hashes)
	}
	r, err := ParseRequirement(text)
	if err != nil {
		return err
	}
	if r.URL != "" {
		_, at, _ := strings.Cut(text, "@")
		return p.addLocation(r.Name, strings.TrimSpace(at), hashes)
	}
	const create = "create the file with uv export, which writes hashes, or write a uv.lock with uv lock"
	v, pinned := r.Specifiers.Pinned()
	switch {
	case !pinned:
		return hint.Wrap(fmt.Errorf("package %q has no fixed version: expected %s==VERSION", r.Name, r.Name), create)
	case len(hashes) == 0:
		return hint.Wrap(fmt.Errorf("package %q has no hash: expected one of the form sha256:HEX", r.Name), create)
	}
	p.Packages = append(p.Packages, Package{Name: r.Name, Version: v.String(), Marker: r.Marker, Hashes: hashes})
	return nil
}

// parseHashes returns the hex digits of the options --hash after a requirement, which are
// separated by " --".
func parseHashes(options string) ([]string, error) {
	var all []string
	for option := range strings.SplitSeq(options, " --") {
		if option = strings.TrimSpace(option); option == "" {
			continue
		}
		name, value := cutOption(option)
		if name != "hash" {
			return nil, fmt.Errorf("the option --%s is not supported", name)
		}
		hash, err := sha256Hex(value)
		if err != nil {
			return nil, err
		}
		all = append(all, hash)
	}
	return all, nil
}

// cutOption returns the name and the value of an option, which are separated by "=" or a
// space.
func cutOption(option string) (name, value string) {
	if i := strings.IndexAny(option, "= "); i >= 0 {
		return option[:i], strings.TrimSpace(option[i+1:])
	}
	return option, ""
}

// addLocation adds the source folder or the wheel at a path or URL, which may have extras
// and a marker behind it. name is empty if the line does not have it.
func (p *requirementsParser) addLocation(name, text string, hashes []string) error {
	at, condition, _ := strings.Cut(text, " ;")
	marker, err := ParseMarker(condition)
	if err != nil {
		return err
	}
	at, fragment, _ := strings.Cut(strings.TrimSpace(at), "#")
	at, _, _ = strings.Cut(at, "[")
	address, local := at, ""
	if rest, isFile := strings.CutPrefix(at, "file:"); isFile || !strings.Contains(at, "://") {
		address, local = "", strings.TrimPrefix(cmp.Or(rest, at), "//")
	}
	switch hash, ok := strings.CutPrefix(fragment, "sha256="); {
	case strings.HasSuffix(at, ".whl"):
		if ok && len(hashes) == 0 {
			hashes = []string{hash}
		}
	case address != "": // the URL may have a password
		return hint.Wrap(fmt.Errorf("package %q is at a URL, and not a wheel: it needs a build", cmp.Or(name, path.Base(at))), ElsewhereHint)
	default: // its name is in its own pyproject.toml
		p.Packages = append(p.Packages, Package{Directory: path.Clean(local), Marker: marker})
		return nil
	}
	if len(hashes) != 1 {
		return fmt.Errorf("wheel %q has %d hashes: expected one of the form sha256:HEX", path.Base(at), len(hashes))
	}
	f, err := newFile("", address, local, "sha256:"+hashes[0])
	if err != nil {
		return err
	}
	f.Direct = true
	wheel, err := ParseWheelName(f.Name)
	if err != nil {
		return err
	}
	p.Packages = append(p.Packages, Package{Name: cmp.Or(name, wheel.Name), Version: wheel.Version.String(), Marker: marker, Wheels: []File{f}})
	return nil
}

func (p *requirementsParser) addOption(file, line string) error {
	option, value := cutOption(line)
	switch strings.TrimLeft(option, "-") {
	case "e", "editable":
		return p.addLocation("", value, nil)
	case "i", "index-url":
		p.Index = value
	case "extra-index-url":
		p.ExtraIndexes = append(p.ExtraIndexes, value)
	case "r", "requirement":
		return p.include(file, value, false)
	case "c", "constraint":
		return p.include(file, value, true)
	case "require-hashes", "only-binary", "no-binary", "pre", "prefer-binary", "trusted-host":
	default:
		return fmt.Errorf("option %s is not supported", option)
	}
	return nil
}

func (p *requirementsParser) include(from, name string, constraints bool) error {
	if strings.Contains(name, "://") || path.IsAbs(name) {
		return errors.New("an included file must have a relative path")
	}
	name = path.Join(path.Dir(from), name)
	included := inclusion{name, constraints}
	if p.seen[included] {
		return nil
	}
	p.seen[included] = true
	data, err := p.read(name)
	if err != nil {
		return fmt.Errorf("reading %q: %w", name, err)
	}
	if constraints {
		return p.parse(name, data, p.addConstraint)
	}
	return p.parse(name, data, p.addLine)
}

func (p *requirementsParser) addConstraint(file, line string) error {
	if option, isOption := strings.CutPrefix(line, "-"); isOption {
		name, value := cutOption(option)
		if name = strings.TrimLeft(name, "-"); name == "c" || name == "constraint" {
			return p.include(file, value, true)
		}
		return nil
	}
	text, _, _ := strings.Cut(line, " --")
	r, err := ParseRequirement(text)
	p.constraints = append(p.constraints, r)
	return err
}
