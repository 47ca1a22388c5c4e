package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Source is the commit that is released.
type Source struct {
	// Tag is the version that the program prints: a tag such as v1.2.0, or for a snapshot
	// what git describe returns.
	Tag string
	// Version is a semantic version without "v". A snapshot is a prerelease of 0.0.0.
	Version string
	Commit  string
	// Time is the time of the commit. All files have this modification time.
	Time time.Time
}

var releaseTag = regexp.MustCompile(`^v(\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?)$`)

// describe returns the source in the repository at root. A tag of the commit makes a release, if
// no file is changed or untracked. Anything else is a snapshot.
func describe(ctx context.Context, root string) (s Source, err error) {
	if s.Tag, err = output(ctx, root, nil, "git", "describe", "--tags", "--always", "--dirty"); err != nil {
		return s, err
	}
	show, err := output(ctx, root, nil, "git", "log", "-1", "--format=%H %ct")
	if err != nil {
		return s, err
	}
	commit, stamp, _ := strings.Cut(show, " ")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return s, fmt.Errorf("reading the time of the commit: %w", err)
	}
	s.Commit, s.Time = commit, time.Unix(seconds, 0).UTC()
	// A version control system without such a tag prints an error, and exact is "".
	exact, _ := output(ctx, root, nil, "git", "describe", "--tags", "--exact-match")
	changed, err := output(ctx, root, nil, "git", "status", "--porcelain")
	if err != nil {
		return s, err
	}
	if changed != "" {
		s.Tag = strings.TrimSuffix(s.Tag, "-dirty") + "-dirty"
	}
	s.Version = versionOf(s.Tag, exact)
	return s, nil
}

// versionOf returns the version of a source that git describes as described, and whose commit
// has the tag exact, or no tag if exact is "".
func versionOf(described, exact string) string {
	if m := releaseTag.FindStringSubmatch(described); m != nil && described == exact {
		return m[1]
	}
	return "0.0.0-snapshot." + strings.TrimPrefix(described, "v")
}

// buildProgram compiles xfn for a platform and returns it.
func buildProgram(ctx context.Context, root string, s Source, goos, arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "xfn-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "xfn")
	env := []string{"CGO_ENABLED=0", "GOOS=" + goos, "GOARCH=" + arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOENV=off", "GOWORK=off", "GOEXPERIMENT=", "GOFIPS140=off"}
	_, err = output(ctx, root, env, "go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false",
		"-ldflags", "-s -w -X main.version="+s.Tag+" -X main.commit="+s.Commit, "-o", path, "./cmd/xfn")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// output runs a program in dir and returns what it prints, without the last line break.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), env...), &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("running %s %s: %w: %s", filepath.Base(name), args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// commonFiles returns the completions and manual pages that the program host prints, and the
// license and README of the repository at root.
func commonFiles(ctx context.Context, root, host string) (all []file, err error) {
	if host, err = filepath.Abs(host); err != nil {
		return nil, err
	}
	for _, name := range []string{"LICENSE", "README.md"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		all = append(all, file{name: name, data: data})
	}
	for _, c := range []struct{ shell, name string }{{"bash", "xfn.bash"}, {"zsh", "_xfn"}, {"fish", "xfn.fish"}} {
		script, err := output(ctx, root, nil, host, "completion", c.shell)
		if err != nil {
			return nil, err
		}
		all = append(all, file{name: "completions/" + c.name, data: []byte(script + "\n")})
	}
	dir, err := os.MkdirTemp("", "xfn-man-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if _, err := output(ctx, root, nil, host, "docs", "man", dir); err != nil {
		return nil, err
	}
	pages, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		data, err := os.ReadFile(filepath.Join(dir, p.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, file{name: "man/" + p.Name(), data: data})
	}
	return all, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
