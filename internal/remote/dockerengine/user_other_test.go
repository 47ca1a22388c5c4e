//go:build !linux

package dockerengine_test

import "syscall"

// asNobody returns nil, because tests on this system cannot change the user.
func asNobody() *syscall.SysProcAttr { return nil }
