package resolve

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// A pylockFile is the part of a pylock.toml that an installation needs (PEP 751).
type pylockFile struct {
	LockVersion    string `toml:"lock-version"`
	RequiresPython string `toml:"requires-python"`
	Environments   []string
	DefaultGroups  []string `toml:"default-groups"`
	Packages       []pylockPackage
}

type pylockPackage struct {
	Name, Version, Marker string
	RequiresPython        string `toml:"requires-python"`
	Wheels                []pylockWheel
	Sdist, VCS            map[string]any
	Archive               *pylockWheel
	Directory             *struct{ Path, Subdirectory string }
}

type pylockWheel struct {
	Name, URL, Path string
	Hashes          map[string]string
}

// ParsePylock parses a pylock.toml.
func ParsePylock(file string, data []byte) (*Lock, error) {
	var in pylockFile
	if err := Decode(file, data, &in); err != nil {
		return nil, err
	}
	if major, _, _ := strings.Cut(in.LockVersion, "."); major != "1" {
		return nil, fmt.Errorf("parsing %s: expected lock-version 1, got %q", file, in.LockVersion)
	}
	l := &Lock{File: file}
	var err error
	if l.RequiresPython, err = ParseSpecifiers(in.RequiresPython); err != nil {
		return nil, fmt.Errorf("parsing %s: %w", file, err)
	}
	if l.environments, err = parseAll(in.Environments, ParseMarker); err != nil {
		return nil, fmt.Errorf("parsing %s: environments: %w", file, err)
	}
	l.groups = normalized(in.DefaultGroups)
	for _, from := range in.Packages {
		p, err := from.parse()
		if err != nil {
			return nil, fmt.Errorf("parsing %s: package %q: %w", file, from.Name, err)
		}
		l.Packages = append(l.Packages, p)
	}
	return l, nil
}

func (in pylockPackage) parse() (p Package, err error) {
	p = Package{Name: Normalize(in.Name), Version: in.Version}
	if p.Marker, err = ParseMarker(in.Marker); err != nil {
		return p, err
	}
	if p.requiresPython, err = ParseSpecifiers(in.RequiresPython); err != nil {
		return p, err
	}
	switch {
	case in.Directory != nil:
		p.Directory = path.Join(in.Directory.Path, in.Directory.Subdirectory)
	case in.VCS != nil:
		p.Origin = "a repository"
	case in.Archive != nil:
		p.Origin = "an archive with source"
	case in.Sdist != nil:
		p.Origin = "an sdist"
	}
	if in.Archive != nil && strings.HasSuffix(in.Archive.file(), ".whl") {
		in.Wheels = append(in.Wheels, *in.Archive)
	}
	for _, w := range in.Wheels {
		f, err := newFile(w.Name, w.URL, w.Path, "sha256:"+w.Hashes["sha256"])
		if err != nil {
			return p, err
		}
		f.Direct = in.Archive != nil
		if p.Wheels = append(p.Wheels, f); p.Version == "" {
			name, err := ParseWheelName(f.Name)
			if err != nil {
				return p, err
			}
			p.Version = name.Version.String()
		}
	}
	return p, nil
}

func (w pylockWheel) file() string {
	if u, err := url.Parse(w.URL); err == nil && w.Path == "" {
		return u.Path
	}
	return w.Path
}
