package proc

import "runtime"

// StartOnThread calls start and, if that succeeds, wait, in a goroutine that is locked to its thread
// until wait returns. It returns the error of start. Linux kills a process with a Pdeathsig when the
// thread that started it ends, so wait must wait for the end of the process.
func StartOnThread(start func() error, wait func()) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := start()
		started <- err
		if err == nil {
			wait()
		}
	}()
	return <-started
}
