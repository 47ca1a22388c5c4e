//go:build !unix

package proc

import "os/exec"

// KillGroup leaves cmd as it is: when its context ends, only the process itself
// is killed.
func KillGroup(*exec.Cmd) {}
