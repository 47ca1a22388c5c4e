package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxReplies bounds in bytes what is read from a supervisor in all.
const maxReplies = 64 << 10

// sealed is the copy of this program that supervisors run from. One serves all.
var sealed = sync.OnceValues(sealSelf)

// A Process is a sandbox that runs.
type Process struct {
	proc   *os.Process
	bounds *bounds
	report Report
	leads  bool        // it leads a process group, whose others die with it
	cancel func() bool // ends the watch over the context
	done   chan struct{}
	state  *os.ProcessState // how it ended, once done is closed
}

// Start starts a sandbox and in it the function, which runs when Start returns.
// When ctx ends, all of the sandbox is killed; it also ends with this process,
// however that ends. The error is a [NamespaceError] where the system forbids
// sandboxes.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	spec, err := spec.withDefaults()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("starting a sandbox: %w", err)
	}
	p, err := start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("starting a sandbox: %w", err)
	}
	return p, nil
}

// Probe returns the [NamespaceError] that Start would fail with, if the system
// forbids sandboxes: it tries to make their namespaces, for a program that there
// is not. It takes about as long as to start a thread.
func Probe() error {
	attr := attributes(Spec{HostID: DefaultHostID, HostGID: DefaultHostID, Network: Isolated})
	attr.Unshareflags = unix.CLONE_NEWNS // which mounts, too: some systems forbid only that
	_, err := os.StartProcess("/dev/null/nothing", []string{"nothing"}, &os.ProcAttr{Sys: attr})
	if errors.Is(err, unix.ENOTDIR) {
		return nil
	}
	return forbidden(err)
}

func start(ctx context.Context, spec Spec) (*Process, error) {
	p := &Process{done: make(chan struct{})}
	launch := func(control *os.File) error { return p.launch(spec, control) }
	return p, p.begin(ctx, launch, func() orders {
		p.bounds = bound(p.proc.Pid, spec.Limits)
		p.report = p.bounds.report(spec)
		return ordersFor(spec, p.report)
	})
}

// begin launches a process that has the other end of a control socket, and has
// it do as ordered.
func (p *Process) begin(ctx context.Context, launch func(control *os.File) error, order func() orders) error {
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer ours.Close()
	if err := launch(theirs); err != nil {
		return err
	}
	p.cancel = context.AfterFunc(ctx, func() {
		_ = p.proc.Kill() // it may have ended
		_ = ours.SetDeadline(time.Unix(1, 0))
	})
	if err := p.instruct(order(), ours); err != nil {
		return errors.Join(p.explain(ctx, err), p.Stop())
	}
	return nil
}

// launch starts the supervisor, which waits for its orders.
func (p *Process) launch(spec Spec, control *os.File) error {
	defer control.Close()
	files, closeFiles, err := descriptors(spec, control)
	defer closeFiles()
	if err != nil {
		return err
	}
	// A Go program holds files of its cgroup, for its number of processors.
	env := []string{"GODEBUG=containermaxprocs=0"}
	attr := &os.ProcAttr{Dir: "/", Env: env, Files: files, Sys: attributes(spec)}
	if err := p.spawn(fmt.Sprintf("/proc/self/fd/%d", programFD), supervisorName, attr); err != nil {
		return forbidden(err)
	}
	return nil
}

// spawn starts this program again, as the process.
func (p *Process) spawn(program, name string, attr *os.ProcAttr) error {
	started := make(chan error)
	go p.live(program, name, attr, started)
	return <-started
}

// live is the life of the process. It keeps to one thread, since the process is
// bound to the life of the thread that started it.
func (p *Process) live(program, name string, attr *os.ProcAttr, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var err error
	p.proc, err = os.StartProcess(program, []string{name}, attr)
	started <- err
	if err != nil {
		return
	}
	if p.leads {
		endGroup(p.proc.Pid)
	}
	p.state, _ = p.proc.Wait() // nobody else waits for it
	close(p.done)
}

// attributes are the namespaces of a supervisor, and who it is in them.
func attributes(spec Spec) *syscall.SysProcAttr {
	flags := unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS
	if spec.Network == Isolated {
		flags |= unix.CLONE_NEWNET
	}
	attr := &syscall.SysProcAttr{
		Cloneflags:  uintptr(flags),
		Setsid:      true, // so that it has no terminal
		UidMappings: []syscall.SysProcIDMap{{ContainerID: spec.UID, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: spec.GID, HostID: os.Getegid(), Size: 1}},
		// What the supervisor needs in its own namespaces until the function
		// starts: to become another user, to mount, to bring up a network, and to
		// bound what is counted by user.
		AmbientCaps: []uintptr{unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SYS_RESOURCE, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER},
	}
	if MapsIDs() {
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: spec.HostID, Size: idRange}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: spec.HostGID, Size: idRange}}
		attr.GidMappingsEnableSetgroups = true
	}
	return attr
}

// instruct tells the process what to do, and hears of it until the function
// runs. After that nothing is read from it.
func (p *Process) instruct(o orders, control *os.File) error {
	out, in := json.NewEncoder(control), json.NewDecoder(io.LimitReader(control, maxReplies))
	if err := out.Encode(o); err != nil {
		return err
	}
	if _, err := hear(in); err != nil {
		return err
	}
	// The supervisor has bound its life to this process's while that lived.
	if err := out.Encode(proceed); err != nil {
		return err
	}
	r, err := hear(in)
	if err != nil {
		return err
	}
	p.report.Landlock, p.report.Proc = r.Landlock, r.Proc
	switch _, err := hear(in); {
	case errors.Is(err, io.EOF):
		return nil // the function runs
	case err == nil:
		return errors.New("unexpected second reply")
	default:
		return err
	}
}

// hear reads one reply.
func hear(in *json.Decoder) (reply, error) {
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

// explain says why instructing failed, where err only says how it was noticed.
func (p *Process) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		_ = p.proc.Kill()
		<-p.done
		return fmt.Errorf("it ended before the function began (%s)", p.state)
	}
	return err
}

// Report returns what confines the function.
func (p *Process) Report() Report { return p.report }

// Done returns a channel that is closed when all of the sandbox has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end of the sandbox and returns the function's exit code, or
// 128 and the number of the signal that ended it. This is what the sandbox says
// of itself: a hostile one may say anything.
func (p *Process) Wait() (int, error) {
	<-p.done
	p.cancel()
	err := p.bounds.remove()
	if status, ok := p.state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), err
	}
	return p.state.ExitCode(), err
}

// Signal sends a signal to the supervisor, which forwards those that usually
// ask a program for something: HUP, INT, QUIT, TERM, USR1, USR2, WINCH, CONT. A
// confined function gets it itself.
func (p *Process) Signal(sig os.Signal) error {
	if err := p.proc.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending the signal %q to a sandbox: %w", sig, err)
	}
	return nil
}

// Stop kills all of the sandbox, or a confined function and its process group,
// and waits for its end.
func (p *Process) Stop() error {
	if err := p.proc.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing a sandbox: %w", err)
	}
	_, err := p.Wait()
	return err
}
