//go:build !unix

package proc

import "os/exec"

// KillGroup does nothing on this system: when the context of cmd ends, only the process
// of cmd is killed.
func KillGroup(*exec.Cmd) {}
