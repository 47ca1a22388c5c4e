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

// groupAttributes starts a process in a new console process group, so that Ctrl-C in the
// console does not end it: xfn stops the process itself.
func groupAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// A group is a Windows job object with a process and its children. Windows kills them when
// the last handle of the job is closed, which is at the latest when this process ends.
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

// terminate kills the group: Windows has no signal that asks a process to end.
func (g *group) terminate() { g.kill() }

func (g *group) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
	}
}

// wait waits for the end of the process, and then kills its remaining children.
func (g *group) wait(cmd *exec.Cmd) {
	_ = cmd.Wait() // ignore the error: cmd.ProcessState also says how the process ended
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	_ = windows.CloseHandle(g.job)
	g.job = 0
}
