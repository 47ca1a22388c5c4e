//go:build !linux

package dockerengine_test

import "syscall"

// asNobody is for systems whose tests can become somebody else.
func asNobody() *syscall.SysProcAttr { return nil }
