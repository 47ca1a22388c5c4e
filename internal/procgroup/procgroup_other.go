//go:build !unix

package procgroup

import "os/exec"

// KillWhole leaves cmd as it is: when its context ends, only the process itself
// is killed.
func KillWhole(*exec.Cmd) {}
