package seccomp

import (
	"fmt"
	"math"
	"slices"
	"syscall"

	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data, the input of a seccomp filter: of the system call
// number, the architecture and the arguments.
const (
	numberOffset   = 0
	archOffset     = 4
	argumentOffset = 16
)

// A policy is a seccomp filter before it is assembled. The filter returns action for a
// system call that matches a rule, and other for every other call. A rule is ignored if
// the architecture does not have the call.
type policy struct {
	rules         []rule
	action, other uint32
}

// A rule matches the system call with this name if all tests of its arguments are true.
type rule struct {
	call  string
	tests []test
}

// A test compares one half of an argument of a system call, because a seccomp filter
// compares only 32 bits.
type test struct {
	offset uint32
	cond   bpf.JumpTest
	value  uint32
}

// all returns a rule that matches a system call if all conditions are true.
func all(call string, conditions ...[]test) rule {
	return rule{call, slices.Concat(conditions...)}
}

// calls returns one rule for each system call name. Each rule matches all arguments.
func calls(names []string) []rule {
	rules := make([]rule, len(names))
	for i, name := range names {
		rules[i] = rule{call: name}
	}
	return rules
}

// low and high return the offsets of the low and high 32 bits of an argument. All
// supported architectures are little-endian.
func low(argument uint32) uint32  { return argumentOffset + 8*argument }
func high(argument uint32) uint32 { return low(argument) + 4 }

func is(argument uint32, value uint64) []test {
	return []test{
		{high(argument), bpf.JumpEqual, uint32(value >> 32)},
		{low(argument), bpf.JumpEqual, uint32(value)},
	}
}

// notIn returns tests that the low 32 bits of an argument differ from all values. The
// kernel reads only these bits of most arguments.
func notIn(argument uint32, values ...uint32) []test {
	var tests []test
	for _, value := range values {
		tests = append(tests, test{low(argument), bpf.JumpNotEqual, value})
	}
	return tests
}

// isWide returns a test that an argument needs more than 32 bits.
func isWide(argument uint32) []test { return []test{{high(argument), bpf.JumpNotEqual, 0}} }

// has returns a test that an argument has any of these bits.
func has(argument, bits uint32) []test { return []test{{low(argument), bpf.JumpBitsSet, bits}} }

// hasNone returns a test that an argument has none of these bits.
func hasNone(argument, bits uint32) []test { return []test{{low(argument), bpf.JumpBitsNotSet, bits}} }

// fail returns the filter action that makes a system call fail with errno.
func fail(errno syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// assemble returns the filter as BPF instructions. Each rule ends with its own return
// instruction, so that no jump is longer than the 255 instructions of a conditional jump.
// A system call by the interface of another architecture, or of x32, fails with ENOSYS.
func (p policy) assemble() ([]bpf.RawInstruction, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("creating a seccomp filter: %w", err)
	}
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: archOffset, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: fail(unix.ENOSYS)},
		bpf.LoadAbsolute{Off: numberOffset, Size: 4},
	}
	if info.ID == arch.X86_64.ID {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpLessThan, Val: uint32(arch.X32.SeccompMask), SkipTrue: 1},
			bpf.RetConstant{Val: fail(unix.ENOSYS)})
	}
	for _, name := range p.names() {
		number, known := info.SyscallNames[name]
		if !known {
			continue
		}
		body := p.body(name)
		if len(body) > math.MaxUint8 {
			return nil, fmt.Errorf("creating a seccomp filter: too many rules for %s", name)
		}
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(number), SkipTrue: uint8(len(body))})
		program = append(program, body...)
	}
	return bpf.Assemble(append(program, bpf.RetConstant{Val: p.other}))
}

// names returns the names of the system calls that have rules, without duplicates.
func (p policy) names() []string {
	var names []string
	for _, r := range p.rules {
		if !slices.Contains(names, r.call) {
			names = append(names, r.call)
		}
	}
	return names
}

// body returns the instructions for the system call with this name. They test its rules
// in order.
func (p policy) body(name string) []bpf.Instruction {
	var body []bpf.Instruction
	for _, r := range p.rules {
		if r.call != name {
			continue
		}
		for i, t := range r.tests {
			const each = 2 // the number of instructions of a test: a load and a jump
			left := each*(len(r.tests)-i-1) + 1
			body = append(body, bpf.LoadAbsolute{Off: t.offset, Size: 4}, bpf.JumpIf{Cond: t.cond, Val: t.value, SkipFalse: uint8(left)})
		}
		body = append(body, bpf.RetConstant{Val: p.action})
	}
	return append(body, bpf.RetConstant{Val: p.other})
}
