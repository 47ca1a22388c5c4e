package process

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// groupAttributes keeps the console's Ctrl-C from the process, so that it can
// be stopped in order.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// A group is a job object. Windows kills its processes when its last handle is
// closed, at the latest at the end of this process.
type group struct {
	mu  sync.Mutex
	job windows.Handle
}

func newGroup(cmd *exec.Cmd) (_ *group, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("creating a job object for process %d: %w", cmd.Process.Pid, err), cmd.Process.Kill())
			_ = cmd.Wait()
		}
	}()
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	if err := assign(job, cmd.Process.Pid); err != nil {
		return nil, errors.Join(err, windows.CloseHandle(job))
	}
	return &group{job: job}, nil
}

func assign(job windows.Handle, pid int) error {
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{}
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return err
	}
	proc, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	return errors.Join(windows.AssignProcessToJobObject(job, proc), windows.CloseHandle(proc))
}

// terminate kills the group, because Windows has no signal that asks a process to end.
func (g *group) terminate() { g.kill() }

func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
	}
}

// wait waits for the end of the process, then kills the processes that it left behind.
func (g *group) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // the error is in cmd.ProcessState, too
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = windows.CloseHandle(g.job)
	g.job = 0
}
