package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// stage is the directory in which the new root is assembled. /dev exists on every system,
// and every user may enter it. A tmpfs is mounted over it; a directory of that tmpfs
// becomes the function's /tmp.
const stage = "/dev"

// isolate sets up the new namespaces of this process: the host name, the loopback
// interface, and the mounts with the open directory root as the new root.
func isolate(o request, root int) (done reply, err error) {
	// This mount is the first operation that needs a capability in the new namespaces.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
			return reply{}, fmt.Errorf("%w: %w", errForbidden, err)
		}
		return reply{}, fmt.Errorf("making the mounts private: %w", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWCGROUP); err != nil {
		return reply{}, fmt.Errorf("creating a cgroup namespace: %w", err)
	}
	if err := unix.Sethostname([]byte(o.Hostname)); err != nil {
		return reply{}, fmt.Errorf("setting the host name %q: %w", o.Hostname, err)
	}
	if o.Network == Isolated {
		if err := raiseLoopback(); err != nil {
			return reply{}, fmt.Errorf("bringing up the loopback interface: %w", err)
		}
	}
	done.Proc, err = mountAll(o, root)
	return done, err
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// mountAll assembles the new root from the open directory root, and changes to it. proc
// is true if /proc could be mounted.
func mountAll(o request, root int) (proc bool, err error) {
	devices, err := openDevices()
	if err != nil {
		return false, err
	}
	// Allow one inode for every 4 KiB. The mode is 0755 because the function's user owns
	// the mount point, but not all files in it.
	data := fmt.Sprintf("mode=0755,size=%d,nr_inodes=%d", o.Limits.Tmp, max(o.Limits.Tmp>>12, 64))
	if err := mount("tmpfs", stage, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		return false, err
	}
	if err := bindRoot(root); err != nil {
		return false, err
	}
	unix.Close(root)
	dir, err := layRoot(o)
	if err != nil {
		return false, err
	}
	if proc, err = mountSystem(o, dir, devices); err != nil {
		return false, err
	}
	if err := pivot(dir); err != nil {
		return false, err
	}
	if proc {
		limitWatches()
		err = maskProc()
	}
	return proc, err
}

// bindRoot mounts the open directory root, read-only, at lower in the directory stage.
func bindRoot(root int) error {
	if err := mkdirs("lower", "skel", "tmp"); err != nil {
		return err
	}
	lower := path.Join(stage, "lower")
	if err := mount(self(root), lower, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	return remount(lower, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV)
}

// layRoot returns the directory that becomes the function's root: the read-only mount of
// bindRoot, or an overlay of it if the function may write or if a mount point is missing.
func layRoot(o request) (string, error) {
	lower := path.Join(stage, "lower")
	missing, err := lacking(lower, o)
	if err != nil || !missing && !o.Writable {
		return lower, err
	}
	if err := skeleton(o); err != nil {
		return "", err
	}
	merged := path.Join(stage, "root")
	options := fmt.Sprintf("lowerdir=%s:%s", lower, path.Join(stage, "skel"))
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_RDONLY)
	if o.Writable {
		options += fmt.Sprintf(",upperdir=%s,workdir=%s", path.Join(stage, "upper"), path.Join(stage, "work"))
		flags &^= unix.MS_RDONLY
	}
	// The option userxattr, since Linux 5.11, makes overlay use extended attributes that
	// every user may set.
	if mount("overlay", merged, "overlay", flags, options+",userxattr") == nil {
		return merged, nil
	}
	return merged, mount("overlay", merged, "overlay", flags, options)
}

// lacking reports whether a mount point is missing in dir. It returns an error for a mount
// point that is a symbolic link, which could lead anywhere (CVE-2021-30465).
func lacking(dir string, o request) (missing bool, err error) {
	for _, name := range targets(o) {
		switch info, err := os.Lstat(path.Join(dir, name)); {
		case errors.Is(err, fs.ErrNotExist):
			missing = true
		case err != nil:
			return false, err
		case name != resolvConf && !info.IsDir():
			return false, fmt.Errorf("/%s in the root of the image is not a directory", name)
		}
	}
	return missing, nil
}

const resolvConf = "etc/resolv.conf"

// targets returns the paths of the mount points, relative to the root.
func targets(o request) []string {
	names := []string{"dev", "proc", "tmp"}
	if o.Resolver != nil {
		names = append(names, resolvConf)
	}
	return names
}

// skeleton creates the directories of the overlay. The lowest layer, skel, contains the
// mount points that the root may lack.
func skeleton(o request) error {
	err := mkdirs("root", "upper", "work", "skel/dev", "skel/proc", "skel/tmp", "skel/etc")
	if err == nil && o.Resolver != nil {
		err = os.WriteFile(path.Join(stage, "skel", resolvConf), o.Resolver, 0o644)
	}
	return err
}

// mountSystem mounts /proc, /dev, /tmp and the resolver configuration in the directory dir,
// the new root. proc is true if /proc could be mounted.
func mountSystem(o request, dir string, devices map[string]int) (proc bool, err error) {
	root, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, fmt.Errorf("opening the new root: %w", err)
	}
	defer unix.Close(root)
	if err := os.Chmod(path.Join(stage, "tmp"), 0o777|fs.ModeSticky); err != nil {
		return false, err
	}
	if err := mountOn(root, "tmp", path.Join(stage, "tmp"), "", unix.MS_BIND, ""); err != nil {
		return false, err
	}
	if err := mountDevices(root, devices); err != nil {
		return false, err
	}
	if o.Resolver != nil {
		if err := mountResolver(root, o); err != nil {
			return false, err
		}
	}
	return mountProc(root)
}

// mountProc mounts the /proc of the new process namespace. The option hidepid hides
// processes that the reader may not trace, such as the supervisor. mountProc returns
// false if the kernel refuses the mount, as in a container with a masked /proc.
func mountProc(root int) (bool, error) {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	err := mountOn(root, "proc", "proc", "proc", flags, "hidepid=4")
	if errors.Is(err, unix.EINVAL) { // Linux before 5.8 has no hidepid=4
		err = mountOn(root, "proc", "proc", "proc", flags, "hidepid=2")
	}
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return false, nil
	}
	return err == nil, err
}

// mountResolver mounts o.Resolver over the root's /etc/resolv.conf if that is a regular
// file. It does not replace a symbolic link.
func mountResolver(root int, o request) error {
	etc, err := unix.Openat(root, "etc", unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(etc)
	var st unix.Stat_t
	if err := unix.Fstatat(etc, "resolv.conf", &st, unix.AT_SYMLINK_NOFOLLOW); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return nil
	}
	file := path.Join(stage, "resolver")
	if err := os.WriteFile(file, o.Resolver, 0o644); err != nil {
		return err
	}
	target, err := unix.Openat(etc, "resolv.conf", unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(target)
	return mount(file, self(target), "", unix.MS_BIND, "")
}

// harmlessDevices are the devices that every program may use.
var harmlessDevices = []string{"null", "zero", "full", "random", "urandom"}

func openDevices() (map[string]int, error) {
	devices := map[string]int{}
	for _, name := range harmlessDevices {
		fd, err := unix.Open("/dev/"+name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("opening /dev/%s: %w", name, err)
		}
		devices[name] = fd
	}
	return devices, nil
}

// mountDevices mounts a read-only /dev with these devices and the usual symbolic links. The
// link /dev/shm leads to /tmp, so that the size limit of /tmp includes POSIX shared memory.
func mountDevices(root int, devices map[string]int) error {
	dev := path.Join(stage, "dev")
	if err := mkdirs("dev"); err != nil {
		return err
	}
	if err := mount("tmpfs", dev, "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755,size=64k"); err != nil {
		return err
	}
	for name, fd := range devices {
		file := path.Join(dev, name)
		if err := os.WriteFile(file, nil, 0o666); err != nil {
			return err
		}
		if err := mount(self(fd), file, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		unix.Close(fd)
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "shm": "/tmp",
	} {
		if err := os.Symlink(target, path.Join(dev, name)); err != nil {
			return err
		}
	}
	if err := remount(dev, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NOEXEC); err != nil {
		return err
	}
	return mountOn(root, "dev", dev, "", unix.MS_MOVE, "")
}

// pivot makes dir the root of this mount namespace, and unmounts the old root.
func pivot(dir string) error {
	err := os.Chdir(dir)
	if err == nil {
		err = unix.PivotRoot(".", ".")
	}
	if err == nil { // PivotRoot(".", ".") leaves the old root mounted over the new one.
		err = unix.Unmount(".", unix.MNT_DETACH)
	}
	if err == nil {
		err = os.Chdir("/")
	}
	if err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	return nil
}

// limitWatches limits the inotify instances and watches of the sandbox. They also count
// toward the limits of the caller's user, often 128 instances and 8192 watches. If the
// kernel refuses, only the user's limits apply.
func limitWatches() {
	for name, value := range map[string]string{"instances": "16", "watches": "1024"} {
		_ = os.WriteFile("/proc/sys/user/max_inotify_"+name, []byte(value), 0)
	}
}

// maskProc hides the files of /proc that describe the host, and makes the settings in
// /proc read-only. The files are the same as in OCI runtimes.
func maskProc() error {
	const noExec = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	for names, mask := range map[string]func(file string) error{
		"kcore keys latency_stats timer_list timer_stats sched_debug kmsg interrupts softirqs": func(file string) error {
			return mount("/dev/null", file, "", unix.MS_BIND, "")
		},
		"acpi scsi": func(dir string) error { return mount("tmpfs", dir, "tmpfs", noExec, "size=0,nr_inodes=1") },
		"asound bus fs irq sys sysrq-trigger": func(file string) error {
			if err := mount(file, file, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
				return err
			}
			return remount(file, noExec)
		},
	} {
		for _, name := range strings.Fields(names) {
			if err := mask("/proc/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// self returns a path of the open file fd. The path stays valid if the file or its
// directories are renamed.
func self(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// mountOn mounts source on the entry name of the open directory dir. The entry must be a
// directory, and not a symbolic link.
func mountOn(dir int, name, source, fstype string, flags uintptr, data string) error {
	fd, err := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening /%s to mount on it: %w", name, err)
	}
	defer unix.Close(fd)
	return mount(source, self(fd), fstype, flags, data)
}

func mount(source, target, fstype string, flags uintptr, data string) error {
	if err := unix.Mount(source, target, fstype, flags, data); err != nil {
		return &fs.PathError{Op: "mounting " + cmp.Or(fstype, source) + " on", Path: target, Err: err}
	}
	return nil
}

// remount adds flags to the mount at target. It keeps the flags noexec, nosuid and nodev
// of the mount, because the kernel does not permit a user namespace to clear them.
func remount(target string, flags uintptr) error {
	var st unix.Statfs_t
	if err := unix.Statfs(target, &st); err != nil {
		return &fs.PathError{Op: "reading the flags of", Path: target, Err: err}
	}
	for has, keep := range map[int64]uintptr{unix.ST_NOEXEC: unix.MS_NOEXEC, unix.ST_NOSUID: unix.MS_NOSUID, unix.ST_NODEV: unix.MS_NODEV} {
		if int64(st.Flags)&has != 0 {
			flags |= keep
		}
	}
	return mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|flags, "")
}

// mkdirs creates directories in the directory stage.
func mkdirs(names ...string) error {
	for _, name := range names {
		if err := os.MkdirAll(path.Join(stage, name), 0o755); err != nil {
			return err
		}
	}
	return nil
}
