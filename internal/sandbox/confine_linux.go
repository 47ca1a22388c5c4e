package sandbox

import (
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

// confinedName is what a process is called with that confines itself: its whole
// command line.
const confinedName = "xfn-confined"

// Confine starts a function where no sandbox can be made: as a process in the
// caller's namespaces that gives up, before it begins, what it can give up
// without new ones. When ctx ends the function is killed with its process group,
// and it ends with the caller, however that ends. What it starts, and takes out
// of its process group, stays.
//
// Where the caller may, the root of the spec becomes the function's, and its
// user one that has no rights on this machine; see [Becomes]. Else the function
// keeps the caller's root and user: its program has to be static, or the error
// is a [ProgramError], and Args[0] and Dir are still paths inside of the root.
// Either way it has no capabilities, a seccomp filter and resource limits, and
// no supervisor; where the kernel has Landlock, it reads nothing but its root,
// and writes to a private directory only, which TMPDIR names and which goes with
// it. With the network Isolated it may listen on Port, and reach nobody. It
// cannot make unix sockets.
//
// Hostname, Writable, Resolver, Listener and Limits.Tmp and CPU say nothing here.
func Confine(ctx context.Context, spec Spec) (*Process, error) {
	spec, err := spec.withDefaults()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("confining a process: %w", err)
	}
	p := &Process{done: make(chan struct{}), leads: true}
	if err := p.confine(ctx, spec); err != nil {
		return nil, fmt.Errorf("confining a process: %w", err)
	}
	return p, nil
}

func (p *Process) confine(ctx context.Context, spec Spec) error {
	p.report = confinedReport(spec)
	private, err := newPrivate(spec, p.report)
	if err != nil {
		return err
	}
	p.bounds = &bounds{remove: sync.OnceValue(private.Close)}
	launch := func(control *os.File) error {
		if err := p.launchConfined(spec, control); err != nil {
			return errors.Join(err, p.bounds.remove())
		}
		return nil
	}
	return p.begin(ctx, launch, func() orders { return confinedOrders(spec, p.report, private) })
}

// Becomes reports whether a function of [Confine] gets its own root, and a user
// other than the caller's: [Spec.HostID] and what its image says. Who unpacks a
// root for it gives the files to these ids, which begin at [DefaultHostID].
func Becomes() bool {
	// To become the user, to give it its files and remove what it made of them,
	// and to end its process.
	const need = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_CHOWN | 1<<unix.CAP_FOWNER | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_KILL
	return mayChroot() && capable(need) && MapsIDs()
}

// mayChroot tells whether this process may change roots, by changing to the one
// that it has.
func mayChroot() bool { return unix.Chroot("/") == nil }

func confinedReport(spec Spec) Report {
	r := Report{Chroot: mayChroot(), HostID: os.Geteuid(), IDs: 1, Network: spec.Network}
	r.Memory = limit(spec.Limits.Memory, 0, Nothing, minData)
	if Becomes() {
		r.HostID = spec.HostID + spec.UID
		// The limit is one of all processes of a user. Those of the caller may be
		// many already.
		r.PIDs = limit(spec.Limits.PIDs, 0, Nothing, 1)
	}
	return r
}

func confinedOrders(spec Spec, r Report, private private) orders {
	o := ordersFor(spec, r)
	o.Chroot, o.Range, o.Private, o.Port = r.Chroot, Becomes(), private.path, spec.Port
	o.UID, o.GID = spec.HostID+spec.UID, spec.HostGID+spec.GID
	o.Env = slices.DeleteFunc(slices.Clone(o.Env), func(v string) bool { return strings.HasPrefix(v, "TMPDIR=") })
	o.Env = append(o.Env, "TMPDIR="+private.path)
	return o
}

// launchConfined starts the process, which waits for its orders.
func (p *Process) launchConfined(spec Spec, control *os.File) error {
	defer control.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	return p.spawn("/proc/self/exe", confinedName, &os.ProcAttr{
		Dir: "/", Env: []string{},
		Files: []*os.File{orDefault(spec.Stdin, null), orDefault(spec.Stdout, null), orDefault(spec.Stderr, null), control},
		Sys:   &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	})
}

// endGroup waits for the leader of a process group to end, and kills the others.
// Until the leader is reaped its id, and so the group's, is nobody else's.
func endGroup(leader int) {
	for errors.Is(unix.Waitid(unix.P_PID, leader, nil, unix.WEXITED|unix.WNOWAIT, nil), unix.EINTR) {
	}
	_ = unix.Kill(-leader, unix.SIGKILL) // there may be none
}

// confine has this process become the function. It returns only if that fails.
func confine() int {
	runtime.LockOSThread() // whose rights the function inherits
	control := os.NewFile(controlFD, "control")
	out := json.NewEncoder(control)
	err := becomeFunction(json.NewDecoder(control), out)
	var unfit *ProgramError
	_ = out.Encode(reply{Error: err.Error(), Unfit: errors.As(err, &unfit)}) // the caller may be gone
	return 1
}

func becomeFunction(in *json.Decoder, out *json.Encoder) error {
	var o orders
	if err := in.Decode(&o); err != nil {
		return fmt.Errorf("reading the orders: %w", err)
	}
	if err := closeStray(); err != nil {
		return err
	}
	see, err := enter(o)
	if err != nil {
		return err
	}
	// Who may not do this has no capability that executing a program could keep,
	// as there are no new privileges.
	if capable(1 << unix.CAP_SETPCAP) {
		if err := lockCapabilities(); err != nil {
			return err
		}
	}
	if err := become(o); err != nil {
		return err
	}
	if err := bindLife(in, out); err != nil {
		return err
	}
	abi, err := giveUp(o)
	if err != nil {
		return err
	}
	program, err := goTo(o, see)
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

// enter changes to the root, if it may, and says where paths inside of it lead
// from then on. The way to it may be open to the caller only: this is still its
// user.
func enter(o orders) (view, error) {
	if o.Chroot {
		err := unix.Chroot(string(o.Root))
		if err == nil {
			err = os.Chdir("/")
		}
		if err != nil {
			return nil, fmt.Errorf("changing the root to %q: %w", o.Root, err)
		}
		return asItIs, nil
	}
	root, err := unix.Open(string(o.Root), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the root %q: %w", o.Root, err)
	}
	return func(name string) (string, error) { return lead(root, path.Join("/", o.Dir, name), name) }, nil
}

// maxTries bounds how often a path is tried.
const maxTries = 1000

// lead returns where a path inside of an open root leads, whatever links lie on
// the way.
func lead(root int, file, name string) (string, error) {
	if path.IsAbs(name) {
		file = name
	}
	how := &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := unix.Openat2(root, file, how)
	// Where a path has a "..", any renaming or mounting meanwhile, by anybody on
	// the machine, has the kernel ask for another try (openat2(2)).
	for tries := 0; errors.Is(err, unix.EAGAIN) && tries < maxTries; tries++ {
		fd, err = unix.Openat2(root, file, how)
	}
	if err != nil {
		return "", fmt.Errorf("finding %q in the root: %w", name, err)
	}
	defer unix.Close(fd)
	return os.Readlink(self(fd))
}

// giveUp gives up what the function must not have, for ever, and returns the
// version of Landlock in use.
func giveUp(o orders) (abi int, err error) {
	if err := limitResources(o); err != nil {
		return 0, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("setting no_new_privs: %w", err)
	}
	rights, err := confinedRights(o)
	if err != nil {
		return 0, err
	}
	port := allTCP
	if o.Isolated {
		port = o.Port
	}
	if abi, err = landlocked(rights, port); err != nil {
		return 0, err
	}
	// Of this thread, which alone goes on as the function. To take those of the
	// others would need a /proc.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return 0, fmt.Errorf("dropping all capabilities: %w", err)
	}
	if err := (seccomp.Host{Network: !o.Isolated, Root: o.Chroot}).Install(); err != nil {
		return 0, err
	}
	return abi, seccomp.Install()
}

// confinedRights are to read and execute what is in the root, and to write to
// the private directory.
//
// That lies, where the root is the function's own, in the root's tmp, as there
// is no mount namespace to show a file system in memory: beside those of other
// runs, whose user may be the same. So every entry of the root is listed but
// tmp, and below that only the one directory. Python looks for modules by
// listing directories, the root among them. To list them is allowed below the
// root as a whole, then: other runs' files can be seen by name, and not opened.
func confinedRights(o orders) (map[string]uint64, error) {
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
		case e.Name() == tmpName || e.Type() == os.ModeSymlink: // what a link leads to has a rule of its own
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

// goTo goes to the working directory, and returns the program's path.
func goTo(o orders, see view) (program string, err error) {
	dir, err := see(o.Dir)
	if err == nil {
		err = os.Chdir(dir)
	}
	if err != nil {
		return "", fmt.Errorf("there is no working directory %q", o.Dir)
	}
	if program, err = lookPath(o, see); err != nil || o.Chroot {
		return program, err
	}
	return program, standsAlone(o.Args[0], program)
}

// standsAlone returns a ProgramError for a program that is only whole inside of
// its root.
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
		return &ProgramError{fmt.Sprintf("its entrypoint %q is a script, whose interpreter is in the image", name)}
	}
	program, err := elf.NewFile(f)
	if err != nil {
		return &ProgramError{fmt.Sprintf("its entrypoint %q is not a Linux program", name)}
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return &ProgramError{fmt.Sprintf("its entrypoint %q is a dynamic program, whose libraries are in the image", name)}
		}
	}
	return nil
}
