package resolve

import (
	"bytes"
	"fmt"
	"path"
	"slices"

	"github.com/xfn-dev/xfn/internal/hint"
)

// A uvFile is the part of a uv.lock that an installation needs.
type uvFile struct {
	Version        int
	RequiresPython string `toml:"requires-python"`
	Package        []uvPackage
}

type uvPackage struct {
	Name, Version string
	Source        uvSource
	Markers       []string `toml:"resolution-markers"`
	Dependencies  []uvDependency
	Optional      map[string][]uvDependency `toml:"optional-dependencies"`
	Wheels        []uvWheel
	Sdist         map[string]any
	Metadata      struct {
		RequiresDist []uvDependency `toml:"requires-dist"`
	}
}

// A uvSource has one field, except for the subdirectory of a URL.
type uvSource struct {
	Registry, Git, URL, Path, Directory, Editable, Virtual string
}

type uvDependency struct {
	Name, Version, Marker string
	Extra                 []string
	Extras                []string // instead of Extra in requires-dist
	// Source is set if several packages have this name and version.
	Source uvSource
}

type uvWheel struct{ URL, Path, Filename, Hash string }

// ParseUV parses a uv.lock.
func ParseUV(file string, data []byte) (*Lock, error) {
	var in uvFile
	if err := Decode(file, data, &in); err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, hint.Wrap(fmt.Errorf("%s: the file is empty", file), "write it with uv lock")
	}
	if in.Version != 1 {
		return nil, fmt.Errorf("parsing %s: expected version 1 of the format, got %d", file, in.Version)
	}
	lock, err := in.lock(file)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", file, err)
	}
	return lock, nil
}

func (in uvFile) lock(file string) (l *Lock, err error) {
	l = &Lock{File: file, graph: true}
	if l.RequiresPython, err = ParseSpecifiers(in.RequiresPython); err != nil {
		return nil, err
	}
	for _, from := range in.Package {
		p, err := from.parse()
		if err != nil {
			return nil, fmt.Errorf("package %q: %w", from.Name, err)
		}
		l.Packages = append(l.Packages, p)
	}
	return l, nil
}

func (in uvPackage) parse() (p Package, err error) {
	p = Package{Name: Normalize(in.Name), Version: in.Version, Extras: map[string][]Dependency{}, source: in.Source}
	if p.Forks, err = parseAll(in.Markers, ParseMarker); err != nil {
		return p, err
	}
	if p.Extras[""], err = parseAll(in.Dependencies, uvDependency.parse); err != nil {
		return p, err
	}
	for extra, list := range in.Optional {
		if p.Extras[Normalize(extra)], err = parseAll(list, uvDependency.parse); err != nil {
			return p, err
		}
	}
	switch s := in.Source; {
	case s.Directory+s.Editable+s.Virtual != "":
		p.Directory = path.Clean(s.Directory + s.Editable + s.Virtual)
		if p.Requires, err = parseAll(in.Metadata.RequiresDist, uvDependency.parse); err != nil {
			return p, err
		}
	case s.Git != "":
		p.Origin = "a git repository"
	case in.Sdist != nil || s.URL != "" || s.Path != "":
		p.Origin = "an sdist"
	}
	return p, in.parseWheels(&p)
}

func (in uvPackage) parseWheels(p *Package) error {
	for _, w := range in.Wheels {
		local := w.Path
		switch s := in.Source; {
		case w.URL == "" && w.Path == "" && s.URL != "":
			w.URL = s.URL
		case w.URL == "" && w.Path == "" && s.Path != "":
			local = s.Path
		case w.Path != "" && s.Registry != "":
			local = path.Join(s.Registry, w.Path) // a folder with wheels
		}
		f, err := newFile(w.Filename, w.URL, local, w.Hash)
		if err != nil {
			return err
		}
		f.Direct = in.Source.URL+in.Source.Path != ""
		p.Wheels = append(p.Wheels, f)
	}
	return nil
}

func (in uvDependency) parse() (d Dependency, err error) {
	d = Dependency{Name: Normalize(in.Name), Version: in.Version, Extras: normalized(slices.Concat(in.Extra, in.Extras)), source: in.Source}
	d.Marker, err = ParseMarker(in.Marker)
	return d, err
}
