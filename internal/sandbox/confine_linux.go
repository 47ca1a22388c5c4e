package sandbox

import (
	"cmp"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/sandbox/seccomp"
)

// confinedName is the whole command line of a process that [Confine] starts.
const confinedName = "xfn-confined"

// Confine starts a function on a system that does not permit sandboxes. The function is a
// process in the caller's namespaces that gives up every right that it can give up without
// new namespaces. The function and its process group are killed when ctx ends, and when the
// caller ends for any reason. Processes that leave the process group are not killed.
//
// If the caller may change its root (CAP_SYS_CHROOT), spec.Root becomes the function's
// root. If [Becomes] returns true, the function also runs as a user without rights on
// this machine. Otherwise it keeps the caller's user. A function that keeps the caller's
// root must be a static program, or Confine returns a [ProgramError]. Args[0] and Dir are
// always paths inside of spec.Root.
//
// The function has no capabilities. A seccomp filter and resource limits apply to it;
// there is no supervisor process. If the kernel has Landlock, the function reads only its
// root, and writes only to a private directory, which TMPDIR names and which is removed
// at the end. If spec.Network is [Isolated], the function may listen on spec.Port and
// cannot connect to any address. It cannot create unix sockets.
//
// Confine ignores these fields of spec: Hostname, Writable, Resolver, Listener,
// Limits.Tmp and Limits.CPU.
func Confine(ctx context.Context, spec Spec) (*Process, error) {
	p := &Process{done: make(chan struct{}), leads: true}
	return p.begin(ctx, spec, "confining a process", p.confine)
}

func (p *Process) confine(ctx context.Context, spec Spec) error {
	p.report = confinedReport(spec)
	private, err := newPrivate(spec, p.report)
	if err != nil {
		return err
	}
	p.release = sync.OnceValue(private.Close)
	launch := func(control *os.File) error {
		if err := p.launchConfined(spec, control); err != nil {
			return errors.Join(err, p.release())
		}
		return nil
	}
	return p.startUp(ctx, launch, func() request { return confinedRequest(spec, p.report, private) })
}

// Becomes reports whether [Confine] can give a function its own root and a user other
// than the caller's. That user is Spec.HostID+Spec.UID, so the code that unpacks the root
// must give its files to the user ids from Spec.HostID on. The default of HostID is
// [DefaultHostID].
func Becomes() bool {
	// With these capabilities, this process can change to the function's user, give files
	// to that user, remove files of that user, and kill the function.
	const need = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_CHOWN | 1<<unix.CAP_FOWNER | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_KILL
	return mayChroot() && capable(need) && MapsIDs()
}

// mayChroot reports whether this process may change its root. To find out, it changes the
// root to the current root.
func mayChroot() bool { return unix.Chroot("/") == nil }

func confinedReport(spec Spec) Report {
	r := Report{Chroot: mayChroot(), HostID: os.Geteuid(), IDs: 1, Network: spec.Network}
	r.Memory = limit(spec.Limits.Memory, 0, Nothing, minData)
	if Becomes() {
		r.HostID = spec.HostID + spec.UID
		// RLIMIT_NPROC counts all processes of a user. The caller may already have many
		// processes, so the limit is set only if the function has another user.
		r.PIDs = limit(spec.Limits.PIDs, 0, Nothing, 1)
	}
	return r
}

func confinedRequest(spec Spec, r Report, private private) request {
	o := requestFor(spec, r)
	o.Chroot, o.Range, o.Private, o.Port = r.Chroot, Becomes(), private.path, spec.Port
	o.UID, o.GID = spec.HostID+spec.UID, spec.HostGID+spec.GID
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") })
	o.Env = append(o.Env, "TMPDIR="+private.path)
	return o
}

// launchConfined starts the process that will become the function. The process waits for
// its request on the socket control.
func (p *Process) launchConfined(spec Spec, control *os.File) error {
	defer control.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	return p.spawn("/proc/self/exe", confinedName, &os.ProcAttr{
		Dir: "/", Env: []string{},
		Files: []*os.File{cmp.Or(spec.Stdin, null), cmp.Or(spec.Stdout, null), cmp.Or(spec.Stderr, null), control},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// endGroup waits until the leader of a process group ends, and then kills the other
// processes of the group. It does not reap the leader, because the kernel could then
// reuse the group's id for another group.
func endGroup(leader int) {
	for errors.Is(unix.Waitid(unix.P_PID, leader, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	_ = unix.Kill(-leader, unix.SIGKILL) // ignore an error: the group may have no other processes
}

// confine executes the function's program in this process. It returns an exit code, and
// only if that fails.
func confine() int {
	runtime.LockOSThread() // the program inherits the restrictions of this thread
	control := os.NewFile(controlFD, "control")
	out := json.NewEncoder(control)
	err := becomeFunction(json.NewDecoder(control), out)
	// Ignore an error: the process that called Confine may have ended.
	_ = out.Encode(reply{Error: err.Error(), Unfit: errors.As(err, new(*ProgramError))})
	return 1
}

func becomeFunction(in *json.Decoder, out *json.Encoder) error {
	var o request
	if err := in.Decode(&o); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	if err := closeInherited(); err != nil {
		return err
	}
	toHost, err := enter(o)
	if err != nil {
		return err
	}
	// lockCapabilities needs CAP_SETPCAP. Without the lock, no_new_privs still keeps
	// execve from adding capabilities.
	if capable(1 << unix.CAP_SETPCAP) {
		if err := lockCapabilities(); err != nil {
			return err
		}
	}
	if err := setUser(o); err != nil {
		return err
	}
	if err := dieWithCaller(in, out); err != nil {
		return err
	}
	abi, err := giveUp(o)
	if err != nil {
		return err
	}
	program, err := goTo(o, toHost)
	if err != nil {
		return err
	}
	if err := out.Encode(reply{Landlock: abi}); err != nil {
		return err
	}
	if err := limitMemory(o); err != nil {
		return err
	}
	return fmt.Errorf("executing %q: %w", o.Args[0], syscall.Exec(program, o.Args, o.Env))
}

// enter changes the root of this process to o.Root if o.Chroot is set. It returns a
// hostPath for paths inside of o.Root. Call enter before setUser, because only the
// caller's user may have access to o.Root.
func enter(o request) (hostPath, error) {
	if o.Chroot {
		err := unix.Chroot(string(o.Root))
		if err == nil {
			err = os.Chdir("/")
		}
		if err != nil {
			return nil, fmt.Errorf("changing the root to %q: %w", o.Root, err)
		}
		return samePath, nil
	}
	root, err := unix.Open(string(o.Root), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the root %q: %w", o.Root, err)
	}
	return func(name string) (string, error) { return resolveInRoot(root, path.Join("/", o.Dir, name), name) }, nil
}

// maxTries limits how often resolveInRoot repeats openat2 after EAGAIN.
const maxTries = 1000

// resolveInRoot returns the path, on this machine, of a file inside of the open directory root. It
// resolves symbolic links without leaving root. If name is absolute, it replaces file.
// Errors quote name.
func resolveInRoot(root int, file, name string) (string, error) {
	if path.IsAbs(name) {
		file = name
	}
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(root, file, how)
	// openat2 returns EAGAIN for a path with ".." if any process on the machine renames
	// or mounts at the same time. The caller should then try again (openat2(2)).
	for tries := 0; errors.Is(err, unix.EAGAIN) && tries < maxTries; tries++ {
		fd, err = unix.Openat2(root, file, how)
	}
	if err != nil {
		return "", fmt.Errorf("finding %q in the root: %w", name, err)
	}
	defer unix.Close(fd)
	return os.Readlink(self(fd))
}

// giveUp drops all rights that a confined function must not have. It returns the Landlock
// ABI version in use, or 0 if the kernel has no Landlock.
func giveUp(o request) (abi int, err error) {
	rights, err := confinedRights(o)
	if err != nil {
		return 0, err
	}
	port := allTCP
	if o.Network == Isolated {
		port = o.Port
	}
	if abi, err = restrictThread(o, rights, port); err != nil {
		return 0, err
	}
	// Capset drops the capabilities of the current thread only. That is enough, because
	// this thread executes the function. To change other threads, Go would need /proc.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return 0, fmt.Errorf("dropping all capabilities: %w", err)
	}
	if err := (seccomp.Host{Network: o.Network != Isolated, Root: o.Chroot}).Install(); err != nil {
		return 0, err
	}
	return abi, seccomp.Install()
}

// confinedRights returns the Landlock rights of a confined function, by path. The function
// may read and execute the content of its root, and write to its private directory.
//
// If the function has its own root, the private directory is in the root's /tmp, because
// a tmpfs would need a mount namespace. Other runs of the image have private directories
// there, too, and may have the same user. There is therefore a rule for every entry of
// the root except tmp, and in tmp only for o.Private. Listing directories is allowed in
// the whole root, because Python lists directories, including the root, to find modules.
// A function can thus see the names of other runs' files, but cannot open them.
func confinedRights(o request) (map[string]uint64, error) {
	root := string(o.Root)
	if o.Chroot {
		root = "/"
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("listing the root: %w", err)
	}
	rights := map[string]uint64{root: listRights, o.Private: readRights | writeRights | makeRights}
	for _, e := range entries {
		file := filepath.Join(root, e.Name())
		switch {
		case e.Name() == tmpName || e.Type() == os.ModeSymlink: // no rule for a symbolic link: its target has its own rule
		case e.IsDir():
			rights[file] = readRights
		default:
			rights[file] = readRights &^ listRights
		}
	}
	if !o.Chroot {
		for _, name := range harmlessDevices {
			rights["/dev/"+name] = (readRights | writeRights) &^ listRights
		}
	}
	return rights, nil
}

// goTo changes to the working directory o.Dir, and returns the path by which this process
// can execute the program o.Args[0].
func goTo(o request, toHost hostPath) (program string, err error) {
	dir, err := toHost(o.Dir)
	if err == nil {
		err = os.Chdir(dir)
	}
	if err != nil {
		return "", fmt.Errorf("the working directory %q does not exist", o.Dir)
	}
	if program, err = lookPath(o, toHost); err != nil || o.Chroot {
		return program, err
	}
	return program, standsAlone(o.Args[0], program)
}

// standsAlone returns a ProgramError if a program needs files of its image's root, such as a
// dynamic linker.
func standsAlone(name, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("executing %q: %w", name, errors.Unwrap(err))
	}
	defer f.Close()
	magic := make([]byte, len(elf.ELFMAG))
	if _, err := f.ReadAt(magic, 0); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the program: %w", err)
	}
	if strings.HasPrefix(string(magic), "#!") {
		return &ProgramError{fmt.Sprintf("the entrypoint %q is a script, and its interpreter is only in the image", name)}
	}
	program, err := elf.NewFile(f)
	if err != nil {
		return &ProgramError{fmt.Sprintf("the entrypoint %q is not a Linux program", name)}
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return &ProgramError{fmt.Sprintf("the entrypoint %q is dynamically linked, and its libraries are only in the image", name)}
		}
	}
	return nil
}
