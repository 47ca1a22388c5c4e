//go:build unix

package e2e_test

import (
	"os/exec"
	"syscall"
)

// setUser runs a command as another user.
func setUser(cmd *exec.Cmd, id uint32) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
}
