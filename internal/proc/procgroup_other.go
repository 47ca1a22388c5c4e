//go:build !unix

package proc

import "os/exec"

// KillGroup does nothing: when the context of cmd ends, only its process is killed.
func KillGroup(*exec.Cmd) {}
