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

// restrict drops all rights that the function must not have, and returns the version of
// Landlock that is in use. All threads lose capabilities and system calls. Landlock and the
// bounding set apply only to the calling thread, which starts the function.
func restrict(o request) (abi int, err error) {
	if abi, err = restrictThread(o, fileRights(o), allTCP); err != nil {
		return 0, err
	}
	if err := lockCapabilities(); err != nil {
		return 0, err
	}
	// Drop the capabilities of all threads.
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if _, _, errno := psx.Syscall3(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return 0, fmt.Errorf("dropping all capabilities: %w", errno)
	}
	return abi, seccomp.Install()
}

// restrictThread sets resource limits and no_new_privs, and puts the calling
// thread into a Landlock domain; see landlocked.
func restrictThread(o request, rights map[string]uint64, port int) (abi int, err error) {
	if err := limitResources(o); err != nil {
		return 0, err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("setting no_new_privs: %w", err)
	}
	return landlocked(rights, port)
}

// pendingSignals limits the signals and timers that the kernel queues for the function. The
// limit of the caller's user includes them, and may be only some thousands.
const pendingSignals = 1024

// limitResources sets the resource limits of a single process. They apply to the supervisor
// and are inherited by the function.
//
// The size of files is not limited: the limit would apply to each memfd alone, and not to
// other shared memory. It would also kill a function with a signal where a full disk returns
// an error, or if stdout is a log file that has grown.
func limitResources(o request) error {
	limits := map[int]int64{
		unix.RLIMIT_CORE:       1, // 0 would let a program that handles core files on the host receive them
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

// limitMemory sets the memory limit. The supervisor itself may already be near to it, so
// this is the last step before the function starts.
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
	// The syscall package must record the limit of open files. Otherwise it
	// restores the old one at execve.
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

// allTCP in place of a port means that TCP is not restricted.
const allTCP = 0

// landlocked puts the calling thread into a Landlock domain, and returns the version of
// Landlock, or 0 if the kernel has none. rights has the rights below each path; there are
// none elsewhere. From version 6 on, the thread also cannot connect to abstract sockets or
// signal processes outside of the domain. From version 4 on, it may listen for TCP only on
// port, and cannot connect.
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

// fileRights returns the Landlock rights of a function in a sandbox: to read and execute all
// files, and to write to the writable mounts. The flags of the mounts restrict the same;
// this is a second line of defense.
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
