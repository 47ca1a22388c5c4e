package e2e_test

import "os/exec"

// setUser does nothing: Windows has no root that could be another user.
func setUser(*exec.Cmd, uint32) {}
