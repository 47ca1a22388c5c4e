package sandbox

import (
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

// defaultPath is the variable PATH for an image that does not set it, as in container
// engines.
const defaultPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// errNoProgram says that an image has neither an entrypoint nor a command.
var errNoProgram = errors.New("the image has no entrypoint")

// specOf returns the Spec that runs the program of an unpacked image, as its config says
// (OCI image spec, config.md).
func specOf(root *rootfs.Root, s settings) (sandbox.Spec, error) {
	config := root.Config
	args := slices.Concat(config.Entrypoint, config.Cmd)
	if len(args) == 0 {
		return sandbox.Spec{}, errNoProgram
	}
	env := lastValues(slices.Concat([]string{defaultPath}, config.Env, s.env))
	if n := sizeOf(args) + sizeOf(env); n > maxStrings {
		return sandbox.Spec{}, fmt.Errorf("the image's command line and environment have %d bytes, more than the limit of %d", n, maxStrings)
	}
	uid, gid, err := lookupUser(root.Path, config.User)
	if err != nil {
		return sandbox.Spec{}, fmt.Errorf("finding the image's user %q: %w", config.User, err)
	}
	spec := sandbox.Spec{
		Root: root.Path, Args: args, Env: env, Dir: path.Join("/", config.WorkingDir),
		UID: uid, GID: gid, Writable: s.writable, Network: s.network, Limits: s.limits,
	}
	if s.network == sandbox.Runner {
		// Ignore an error: a machine without a name server may have no such file.
		spec.Resolver, _ = os.ReadFile("/etc/resolv.conf")
	}
	return spec, nil
}

// maxStrings limits the bytes of a program's arguments and environment. Linux
// allows 2 MiB, including pointers and padding.
const maxStrings = 1 << 20

func sizeOf(list []string) (n int) {
	for _, text := range list {
		n += len(text) + 1
	}
	return n
}

// lastValues keeps only the last value of each variable. Programs disagree on which value
// applies if a variable has several.
func lastValues(env []string) []string {
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

// lookupUser returns the ids of an image's user: "uid", "uid:gid", or names, which it
// looks up in the account files of the root. An empty user is 0:0.
func lookupUser(root, user string) (uid, gid int, err error) {
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

// maxAccounts limits the size of the files etc/passwd and etc/group of an image, in bytes.
const maxAccounts = 1 << 20

// lookup searches an account file for a name or an id. It returns the id of the account,
// and the number in another field of its line. An id that the file does not contain is
// valid; other is then 0.
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
	return 0, 0, fmt.Errorf("the image's %s has no entry for %q", file, name)
}

// linesOf returns the lines of a file of the root. It does not follow symbolic links that
// lead out of the root.
func linesOf(root, file string) ([]string, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, fsx.Cause(err)
	}
	defer dir.Close()
	info, err := dir.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("reading the image's %s: %w", file, fsx.Cause(err))
	}
	if !info.Mode().IsRegular() || info.Size() > maxAccounts {
		return nil, fmt.Errorf("the image's %s is not a regular file, or is larger than 1 MiB", file)
	}
	f, err := dir.Open(file)
	if err != nil {
		return nil, fmt.Errorf("reading the image's %s: %w", file, fsx.Cause(err))
	}
	defer f.Close()
	text, err := fsx.ReadAll(f, maxAccounts)
	return strings.Split(string(text), "\n"), err
}

// describe returns a text for users: which restrictions apply to a function in a sandbox.
func describe(r sandbox.Report) string {
	parts := []string{"loopback only"}
	if r.Network == sandbox.Runner {
		parts = []string{"network of this machine"}
	}
	parts = append(parts, limits(r)...)
	if r.Landlock == 0 {
		parts = append(parts, "no Landlock")
	}
	return strings.Join(parts, ", ")
}

// limits returns texts for users: the memory limit and the CPU limit, if they are in force.
func limits(r sandbox.Report) (parts []string) {
	for _, l := range []struct {
		name  string
		limit sandbox.Limit
		unit  string
		size  int64
	}{{"memory", r.Memory, " MiB", 1 << 20}, {"CPU", r.CPU, "m", 1}} {
		if l.limit.By != sandbox.Nothing {
			parts = append(parts, fmt.Sprintf("%s %d%s by %s", l.name, l.limit.Value/l.size, l.unit, l.limit.By))
		}
	}
	return parts
}
