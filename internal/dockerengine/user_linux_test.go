package dockerengine_test

import "syscall"

// asNobody makes a process one of a user without rights.
func asNobody() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
