package sandbox

import (
	"fmt"
	"syscall"
	"unsafe"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"

	"github.com/xfn-dev/xfn/internal/sandbox/seccomp"
)

// restrict drops all rights that the function must not have, and returns the Landlock ABI
// version in use. Capabilities and system calls are restricted for all threads. Landlock
// and the capability bounding set restrict only the calling thread, which starts the
// function.
func restrict(o request) (abi int, err error) {
	if abi, err = restrictThread(o, fileRights(o), allTCP); err != nil {
		return 0, err
	}
	if err := lockCapabilities(); err != nil {
		return 0, err
	}
	// psx.Syscall3 drops the capabilities of all threads.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if _, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return 0, fmt.Errorf("dropping all capabilities: %w", errno)
	}
	return abi, seccomp.Install()
}

// restrictThread sets resource limits and no_new_privs, and puts the calling thread into
// a Landlock domain with these rights. port is the only TCP port on which the thread may
// listen, or allTCP.
func restrictThread(o request, rights map[string]uint64, port int) (abi int, err error) {
	if err := limitResources(o); err != nil {
		return 0, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("setting no_new_privs: %w", err)
	}
	return landlocked(rights, port)
}

// pendingSignals limits the signals and timers that the kernel queues for the function.
// They also count toward the limit of the caller's user, which may be only a few
// thousand, so a function must not use it up.
const pendingSignals = 1024

// limitResources sets the resource limits (setrlimit(2)) of this process. The function
// inherits them. They apply to each process separately.
//
// RLIMIT_FSIZE is not set. It would limit the size of each memfd, but not of other shared
// memory. It would also kill a function with a signal where a full disk returns an error,
// and a function whose stdout is a log file that has grown.
func limitResources(o request) error {
	limits := map[int]int64{
		unix.RLIMIT_CORE:       1, // with 0, the kernel would pass core dumps to the host's core handler (core(5))
		unix.RLIMIT_NOFILE:     o.Limits.Files,
		unix.RLIMIT_MEMLOCK:    64 << 10,
		unix.RLIMIT_MSGQUEUE:   0,
		unix.RLIMIT_SIGPENDING: pendingSignals,
		unix.RLIMIT_NICE:       0,
		unix.RLIMIT_RTPRIO:     0,
	}
	if o.PIDs > 0 {
		limits[unix.RLIMIT_NPROC] = o.PIDs
	}
	for resource, value := range limits {
		if err := lower(resource, uint64(value)); err != nil {
			return fmt.Errorf("setting resource limit %d to %d: %w", resource, value, err)
		}
	}
	return nil
}

// limitMemory sets the resource limit of memory, if there is one. Call it last before the
// function starts, because the supervisor itself may already use almost as much memory.
func limitMemory(o request) error {
	if o.Memory == 0 {
		return nil
	}
	if err := lower(unix.RLIMIT_DATA, uint64(o.Memory)); err != nil {
		return fmt.Errorf("limiting memory to %d bytes: %w", o.Memory, err)
	}
	return nil
}

// lower sets a resource limit, unless a lower limit is already in force.
func lower(resource int, value uint64) error {
	var now syscall.Rlimit
	if err := syscall.Getrlimit(resource, &now); err != nil {
		return err
	}
	value = min(value, now.Max)
	// Use Setrlimit of package syscall, which records the new limit of open files.
	// Otherwise package syscall would restore the old limit at execve.
	return syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value})
}

// lockCapabilities makes sure that the calling thread cannot regain a
// capability by executing a program.
func lockCapabilities() error {
	for c := 0; c <= unix.CAP_LAST_CAP; c++ {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil && err != unix.EINVAL {
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	const (
		noRoot, noSetuidFixup, noAmbient = 1 << 0, 1 << 2, 1 << 6
		locks                            = noRoot<<1 | noSetuidFixup<<1 | noAmbient<<1
	)
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot|noSetuidFixup|noAmbient|locks, 0, 0, 0); err != nil {
		return fmt.Errorf("setting the securebits of user 0: %w", err)
	}
	return nil
}

// The access rights of a Landlock ruleset, by purpose.
const (
	listRights  = landlock.AccessFSReadDir
	readRights  = landlock.AccessFSExecute | landlock.AccessFSReadFile | listRights
	writeRights = landlock.AccessFSWriteFile | landlock.AccessFSTruncate
	makeRights  = landlock.AccessFSRemoveDir | landlock.AccessFSRemoveFile | landlock.AccessFSMakeDir | landlock.AccessFSMakeReg |
		landlock.AccessFSMakeSock | landlock.AccessFSMakeFifo | landlock.AccessFSMakeSym | landlock.AccessFSRefer
	deviceRights = landlock.AccessFSMakeChar | landlock.AccessFSMakeBlock
)

// allTCP is a value for a port number. It means that TCP is not restricted.
const allTCP = 0

// landlocked puts the calling thread into a Landlock domain. It returns the Landlock ABI
// version, or 0 if the kernel has no Landlock. rights maps paths to the access rights
// below them; all other paths have none.
//
// From ABI version 4 on, the thread may listen for TCP only on port and cannot connect,
// unless port is allTCP. From version 6 on, it also cannot connect to abstract unix
// sockets or signal processes outside of the domain.
func landlocked(rights map[string]uint64, port int) (abi int, err error) {
	abi, err = landlock.LandlockGetABIVersion()
	if err != nil {
		return 0, nil // the kernel has no Landlock, or it is disabled
	}
	handled := uint64(readRights | writeRights | makeRights | deviceRights)
	if abi < 2 {
		handled &^= landlock.AccessFSRefer
	}
	if abi < 3 {
		handled &^= landlock.AccessFSTruncate
	}
	attr := landlock.RulesetAttr{HandledAccessFS: handled}
	if abi >= 6 {
		attr.Scoped = landlock.ScopeAbstractUnixSocket | landlock.ScopeSignal
	}
	if port != allTCP && abi >= 4 {
		attr.HandledAccessNet = landlock.AccessNetBindTCP | landlock.AccessNetConnectTCP
	}
	ruleset, err := landlock.LandlockCreateRuleset(&attr, 0)
	if err != nil {
		return 0, fmt.Errorf("creating a Landlock ruleset: %w", err)
	}
	defer unix.Close(ruleset)
	if attr.HandledAccessNet != 0 {
		listen := landlock.NetPortAttr{AllowedAccess: landlock.AccessNetBindTCP, Port: uint64(port)}
		if err := landlock.LandlockAddNetPortRule(ruleset, &listen, 0); err != nil {
			return 0, fmt.Errorf("allowing port %d in the Landlock ruleset: %w", port, err)
		}
	}
	for path, rights := range rights {
		if err := allow(ruleset, path, rights&handled); err != nil {
			return 0, fmt.Errorf("allowing %q in the Landlock ruleset: %w", path, err)
		}
	}
	if err := landlock.LandlockRestrictSelf(ruleset, 0); err != nil {
		return 0, fmt.Errorf("enforcing the Landlock ruleset: %w", err)
	}
	return abi, nil
}

// fileRights returns the Landlock rights of a function in a sandbox, by path. The
// function may read and execute all files, and write to the writable mounts. The mount
// flags enforce the same; Landlock is a second line of defense.
func fileRights(o request) map[string]uint64 {
	rights := map[string]uint64{
		"/":     readRights,
		"/tmp":  readRights | writeRights | makeRights,
		"/dev":  readRights | writeRights,
		"/proc": readRights | writeRights,
	}
	if o.Writable {
		rights["/"] = rights["/tmp"]
	}
	return rights
}

func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return landlock.LandlockAddPathBeneathRule(ruleset, &landlock.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
}
