package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/xfn-dev/xfn/internal/proc"
)

// maxReplies limits the bytes that are read from a supervisor in total.
const maxReplies = 64 << 10

// A Process is a running sandbox or confined function.
type Process struct {
	proc    *os.Process
	release func() error // removes the control group or the private directory
	report  Report
	leads   bool        // proc leads a process group, which is killed with it
	cancel  func() bool // stops watching the context that kills the process
	done    chan struct{}
	state   *os.ProcessState // how the process ended; valid after done is closed
}

// Start starts a sandbox and the function in it, and returns when the function runs.
// The whole sandbox is killed when ctx ends, and when this process ends for any reason.
// The error is a [NamespaceError] if the system forbids sandboxes.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	p := &Process{done: make(chan struct{})}
	return p.begin(ctx, spec, "starting a sandbox", p.start)
}

// begin starts the process by start, unless spec is invalid or ctx is done.
func (p *Process) begin(ctx context.Context, spec Spec, doing string, start func(context.Context, Spec) error) (*Process, error) {
	spec, err := spec.withDefaults()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = start(ctx, spec)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return p, nil
}

// Probe returns nil if the system permits sandboxes, and otherwise the [NamespaceError]
// that Start would return. It tries to start a program that does not exist in new
// namespaces, which takes about as long as starting a thread.
func Probe() error {
	attr := attributes(Spec{HostID: DefaultHostID, HostGID: DefaultHostID, Network: Isolated})
	// With this flag, StartProcess also mounts: some systems permit namespaces but no
	// mounts.
	attr.Unshareflags = unix.CLONE_NEWNS
	_, err := os.StartProcess("/dev/null/nothing", []string{"nothing"}, &os.ProcAttr{Sys: attr})
	if errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return forbidden(err)
}

func (p *Process) start(ctx context.Context, spec Spec) error {
	launch := func(control *os.File) error { return p.launch(spec, control) }
	return p.startUp(ctx, launch, func() request {
		group := bound(p.proc.Pid, spec.Limits)
		p.release, p.report = sync.OnceValue(group.Remove), newReport(spec, group)
		return requestFor(spec, p.report)
	})
}

// startUp starts a process with launch, and sends the request of newRequest to it over a
// control socket. launch gets the new process's end of the socket.
func (p *Process) startUp(ctx context.Context, launch func(control *os.File) error, newRequest func() request) error {
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer ours.Close()
	if err := launch(theirs); err != nil {
		return err
	}
	p.cancel = context.AfterFunc(ctx, func() {
		_ = p.proc.Kill() // ignore an error: the process may have ended
		_ = ours.SetDeadline(time.Unix(1, 0))
	})
	if err := p.instruct(newRequest(), ours); err != nil {
		return errors.Join(p.explain(ctx, err), p.Stop())
	}
	return nil
}

// launch starts the supervisor. The supervisor waits for its request on the socket control.
func (p *Process) launch(spec Spec, control *os.File) error {
	defer control.Close()
	files, closeFiles, err := descriptors(spec, control)
	defer closeFiles()
	if err != nil {
		return err
	}
	// Without this setting, the Go runtime of the supervisor keeps cgroup files open, to
	// read the CPU limit.
	env := []string{"GODEBUG=containermaxprocs=0"}
	attr := &os.ProcAttr{Dir: "/", Env: env, Files: files, Sys: attributes(spec)}
	if err := p.spawn(fmt.Sprintf("/proc/self/fd/%d", programFD), supervisorName, attr); err != nil {
		return forbidden(err)
	}
	return nil
}

// spawn starts this program again as p.proc, and returns when the new process has
// started.
func (p *Process) spawn(program, name string, attr *os.ProcAttr) error {
	start := func() (err error) {
		p.proc, err = os.StartProcess(program, []string{name}, attr)
		return err
	}
	return proc.StartOnThread(start, func() {
		if p.leads {
			endGroup(p.proc.Pid)
		}
		p.state, _ = p.proc.Wait() // Wait cannot fail: no other goroutine waits for the process
		close(p.done)
	})
}

// attributes returns the namespaces of a supervisor, and its user ids and capabilities in
// them.
func attributes(spec Spec) *syscall.SysProcAttr {
	flags := unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if spec.Network == Isolated {
		flags |= unix.CLONE_NEWNET
	}
	attr := &syscall.SysProcAttr{
		Cloneflags:  uintptr(flags),
		Setsid:      true, // the supervisor has no terminal
		UidMappings: []syscall.SysProcIDMap{{ContainerID: spec.UID, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: spec.GID, HostID: os.Getegid(), Size: 1}},
		// The supervisor needs these capabilities in its own namespaces until the
		// function starts: to change its user, to mount, to bring up a network, and to
		// set limits that count per user.
		AmbientCaps: []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SYS_RESOURCE, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER},
	}
	if MapsIDs() {
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: spec.HostID, Size: idRange}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: spec.HostGID, Size: idRange}}
		attr.GidMappingsEnableSetgroups = true
	}
	return attr
}

// instruct sends the request and reads the replies of the supervisor until the function
// runs. It reads nothing afterwards, because the function could have taken over the
// supervisor.
func (p *Process) instruct(o request, control *os.File) error {
	out, in := json.NewEncoder(control), json.NewDecoder(io.LimitReader(control, maxReplies))
	if err := out.Encode(o); err != nil {
		return err
	}
	if _, err := readReply(in); err != nil {
		return err
	}
	// With its first reply, the supervisor says that the kernel will kill it when this
	// process ends. This confirmation proves that this process was still alive then.
	if err := out.Encode(true); err != nil {
		return err
	}
	r, err := readReply(in)
	if err != nil {
		return err
	}
	p.report.Landlock, p.report.Proc = r.Landlock, r.Proc
	_, err = readReply(in)
	switch {
	case errors.Is(err, io.EOF):
		return nil // the supervisor closes the socket when the function runs
	case err == nil:
		return errors.New("unexpected third reply")
	}
	return err
}

func readReply(in *json.Decoder) (reply, error) {
	var r reply
	if err := in.Decode(&r); err != nil {
		return reply{}, err
	}
	switch {
	case r.Forbidden:
		return reply{}, forbidden(errors.New(r.Error))
	case r.Unfit:
		return reply{}, &ProgramError{r.Error}
	case r.Error != "":
		return reply{}, errors.New(r.Error)
	}
	return r, nil
}

// explain returns the cause of ctx if ctx has ended. If err says only that the control
// connection ended, explain returns how the process ended. Otherwise it returns err.
func (p *Process) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		_ = p.proc.Kill()
		<-p.done
		return fmt.Errorf("the process ended before the function started (%s)", p.state)
	}
	return err
}

// Report returns the limits and restrictions of the function.
func (p *Process) Report() Report { return p.report }

// Done returns a channel that is closed when the whole sandbox has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the sandbox and returns the function's exit code, or 128 plus
// the number of the signal that ended the function. The code comes from inside of the
// sandbox: a hostile function can choose any value.
func (p *Process) Wait() (int, error) {
	<-p.done
	p.cancel()
	err := p.release()
	if status, ok := p.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), err
	}
	return p.state.ExitCode(), err
}

// Stop kills the whole sandbox, or a confined function and its process group, and waits
// until it has ended.
func (p *Process) Stop() error {
	if err := p.proc.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing a sandbox: %w", err)
	}
	_, err := p.Wait()
	return err
}

// bound puts a supervisor, and every process that it starts, into a new control group. It
// returns nil if the system does not permit control groups; resource limits then apply
// instead.
func bound(pid int, l Limits) *Cgroup {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	own, ownErr := os.ReadFile("/proc/self/cgroup")
	if errors.Join(err, ownErr) != nil {
		return nil
	}
	group := MakeCgroup(string(mounts), string(own), l)
	if group.Add(pid) != nil {
		return nil
	}
	return group
}

// newReport returns the Report of a sandbox without Landlock and Proc, which only the
// supervisor can determine.
func newReport(s Spec, group *Cgroup) Report {
	r := Report{Tmp: s.Limits.Tmp, HostID: os.Geteuid(), IDs: 1, Network: s.Network}
	if MapsIDs() {
		r.HostID, r.IDs = s.HostID, idRange
	}
	kept, version := group.InForce()
	by := map[int]Enforcer{1: CgroupV1, 2: CgroupV2}[version]
	r.Memory = limit(s.Limits.Memory, kept.Memory, by, minData)
	r.PIDs = limit(s.Limits.PIDs, kept.PIDs, by, 1)
	if kept.CPU > 0 {
		r.CPU = Limit{kept.CPU, by}
	}
	return r
}

// limit returns the limit that is in force. If kept is not 0, the control group
// enforces kept. Otherwise, a resource limit enforces asked, but at least the value
// least. If asked is 0, there is no limit.
func limit(asked, kept int64, by Enforcer, least int64) Limit {
	switch {
	case kept > 0:
		return Limit{kept, by}
	case asked > 0:
		return Limit{max(asked, least), Rlimit}
	}
	return Limit{}
}
