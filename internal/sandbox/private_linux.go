package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/fsx"
)

// tmpName is the directory of a function's root in which private directories are created.
const tmpName = "tmp"

// A private is the directory that a confined function may write to. It is removed when
// the function has ended.
type private struct {
	*fsx.TempDir
	path string // the path of the directory as the function sees it
}

// newPrivate creates a private directory: in the root's tmp if the function gets its own
// root, and otherwise in spec.TempDir.
func newPrivate(spec Spec, r Report) (private, error) {
	parent, seen, err := privateParent(spec, r.Chroot)
	if err != nil {
		return private{}, fmt.Errorf("creating a private directory: %w", err)
	}
	dir, err := fsx.MakeTempDir(parent)
	if err != nil {
		return private{}, err
	}
	if Becomes() {
		err = dir.Give(spec.HostID+spec.UID, spec.HostGID+spec.GID)
	}
	if err != nil {
		return private{}, errors.Join(err, dir.Close())
	}
	return private{dir, path.Join(seen, dir.Name)}, nil
}

// privateParent opens the directory in which private directories are created, and returns
// its path as the function sees it.
func privateParent(spec Spec, chroot bool) (dir *os.Root, seen string, err error) {
	if !chroot {
		if seen, err = filepath.Abs(cmp.Or(spec.TempDir, os.TempDir())); err != nil {
			return nil, "", err
		}
		dir, err = os.OpenRoot(seen)
		return dir, seen, err
	}
	root, err := os.OpenRoot(spec.Root)
	if err != nil {
		return nil, "", err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.Mkdir(tmpName, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, "", err
	}
	if info, err := root.Lstat(tmpName); err != nil || !info.IsDir() {
		return nil, "", errors.Join(fmt.Errorf("/%s in the root of the image is not a directory", tmpName), err)
	}
	dir, err = root.OpenRoot(tmpName)
	return dir, "/" + tmpName, err
}

// MapsIDs reports whether this process may map the 65536 user and group ids from
// [DefaultHostID] on into a sandbox. It needs CAP_SETUID and CAP_SETGID, and its own user
// namespace must contain these ids. If MapsIDs returns true, the code that unpacks a root
// must give its files to these ids.
func MapsIDs() bool {
	return capable(1<<unix.CAP_SETUID|1<<unix.CAP_SETGID) && has("/proc/self/uid_map", DefaultHostID) && has("/proc/self/gid_map", DefaultHostID)
}

// capable reports whether this process has all capabilities whose bits are set in need: bit
// n stands for capability n.
func capable(need uint32) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&need == need
}

// has reports whether this process's user namespace contains the 65536 ids from first on.
// file is the id map of the namespace, such as /proc/self/uid_map.
func has(file string, first int) bool {
	data, err := os.ReadFile(file)
	return err == nil && mapped(string(data), first)
}

// mapped reports whether the text of an id map (user_namespaces(7)) contains the 65536
// ids from first on. Each line has three numbers: the first id inside of the namespace,
// the first id outside, and the number of ids.
func mapped(text string, first int) bool {
	for line := range strings.Lines(text) {
		var inside, outside, count int
		if _, err := fmt.Sscan(line, &inside, &outside, &count); err == nil && inside <= first && first+idRange <= inside+count {
			return true
		}
	}
	return false
}
