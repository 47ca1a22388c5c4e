package dockerengine_test

import "syscall"

// asNobody returns the attributes that start a process as a user without privileges.
func asNobody() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}
