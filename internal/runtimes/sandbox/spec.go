package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/image/rootfs"
	"github.com/xfn-dev/xfn/internal/sandbox"
)

// defaultPath is the PATH of an image that sets none, as with container engines.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// errNoProgram is the error of specOf for an image that says not what to run.
var errNoProgram = errors.New("its image has no entrypoint")

// specOf says how to run the program of a root (OCI image spec, config.md).
func specOf(root *rootfs.Root, s settings) (sandbox.Spec, error) {
	config := root.Config
	args := slices.Concat(config.Entrypoint, config.Cmd)
	if len(args) == 0 {
		return sandbox.Spec{}, errNoProgram
	}
	env := lastOf(slices.Concat([]string{defaultPath}, config.Env, s.env))
	if n := sizeOf(args) + sizeOf(env); n > maxStrings {
		return sandbox.Spec{}, fmt.Errorf("its image's command line and environment have %d bytes, more than the %d that a program may be started with", n, maxStrings)
	}
	uid, gid, err := userOf(root.Path, config.User)
	if err != nil {
		return sandbox.Spec{}, fmt.Errorf("finding the image's user %q: %w", config.User, err)
	}
	spec := sandbox.Spec{
		Root: root.Path, Args: args, Env: env, Dir: path.Join("/", config.WorkingDir),
		UID: uid, GID: gid, Writable: s.writable, Network: s.network, Limits: s.limits,
	}
	if s.network == sandbox.Runner {
		// A name server is best effort: not every machine has one.
		spec.Resolver, _ = os.ReadFile("/etc/resolv.conf")
	}
	return spec, nil
}

// maxStrings bounds in bytes a program's arguments and environment. Linux takes
// 2 MiB of them, with what it needs for each.
const maxStrings = 1 << 20

func sizeOf(list []string) (n int) {
	for _, text := range list {
		n += len(text) + 1
	}
	return n
}

// lastOf leaves of each variable the last that is said of it, since programs do
// not agree on which of several counts.
func lastOf(env []string) []string {
	last := make(map[string]int, len(env))
	for i, pair := range env {
		key, _, _ := strings.Cut(pair, "=")
		last[key] = i
	}
	var kept []string
	for i, pair := range env {
		if key, _, _ := strings.Cut(pair, "="); last[key] == i {
			kept = append(kept, pair)
		}
	}
	return kept
}

// userOf returns the ids of an image's user: "uid", "uid:gid", or names, which
// are looked up in the root's own files. No user is 0:0.
func userOf(root, user string) (uid, gid int, err error) {
	if user == "" {
		return 0, 0, nil
	}
	name, group, hasGroup := strings.Cut(user, ":")
	uid, gid, err = lookup(root, "etc/passwd", name, 3)
	if err == nil && hasGroup {
		gid, _, err = lookup(root, "etc/group", group, 2)
	}
	return uid, gid, err
}

// maxAccounts bounds what is read of a file of accounts, in bytes.
const maxAccounts = 1 << 20

// lookup returns the id of an account, and the number in another field of its
// line. A number need not have an account.
func lookup(root, file, name string, field int) (id, other int, err error) {
	number, err := strconv.Atoi(name)
	isNumber := err == nil
	lines, err := linesOf(root, file)
	if err != nil && !isNumber {
		return 0, 0, err
	}
	for _, line := range lines {
		fields := strings.Split(line, ":")
		if len(fields) <= max(field, 2) || fields[0] != name && fields[2] != name {
			continue
		}
		if id, err = strconv.Atoi(fields[2]); err != nil {
			continue
		}
		other, _ = strconv.Atoi(fields[field])
		return id, other, nil
	}
	if isNumber {
		return number, 0, nil
	}
	return 0, 0, fmt.Errorf("%s has no %q", file, name)
}

// linesOf reads a file of the root. No link leads out of that.
func linesOf(root, file string) ([]string, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	defer dir.Close()
	info, err := dir.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, fsx.Cause(err))
	}
	if !info.Mode().IsRegular() || info.Size() > maxAccounts {
		return nil, fmt.Errorf("%s is no file of accounts", file)
	}
	f, err := dir.Open(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, fsx.Cause(err))
	}
	defer f.Close()
	var lines []string
	scanner := bufio.NewScanner(f)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	return lines, scanner.Err()
}

// describe says what confines a function, for people.
func describe(r sandbox.Report) string {
	said := []string{"loopback only"}
	if r.Network == sandbox.Runner {
		said = []string{"network of this machine"}
	}
	said = append(said, limits(r)...)
	if r.Landlock == 0 {
		said = append(said, "no Landlock")
	}
	return strings.Join(said, ", ")
}

// limits says what limits memory and processors, for people.
func limits(r sandbox.Report) (said []string) {
	for _, l := range []struct {
		name  string
		limit sandbox.Limit
		unit  string
		size  int64
	}{{"memory", r.Memory, " MiB", 1 << 20}, {"CPU", r.CPU, "m", 1}} {
		if l.limit.By != sandbox.Nothing {
			said = append(said, fmt.Sprintf("%s %d%s by %s", l.name, l.limit.Value/l.size, l.unit, l.limit.By))
		}
	}
	return said
}
