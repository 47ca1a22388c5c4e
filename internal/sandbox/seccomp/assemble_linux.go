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

// Where a filter finds a call's number, its architecture and its arguments.
const (
	numberOffset   = 0
	archOffset     = 4
	argumentOffset = 16
)

// A policy is what a filter does about calls: the action for those that a rule
// is met by, and the other action for all others. A name that the architecture
// does not have is left out.
type policy struct {
	rules         []rule
	action, other uint32
}

// A rule is met by a call for which all of the tests come true.
type rule struct {
	call  string
	tests []test
}

// A test compares one half of an argument, 32 bits, as that is what a filter
// can.
type test struct {
	offset uint32
	cond   bpf.JumpTest
	value  uint32
}

// all is the rule of a call for which all of these conditions come true.
func all(call string, conditions ...[]test) rule {
	return rule{call, slices.Concat(conditions...)}
}

// calls are rules of calls with any arguments.
func calls(names []string) []rule {
	rules := make([]rule, len(names))
	for i, name := range names {
		rules[i] = rule{call: name}
	}
	return rules
}

// low and high are where the halves of an argument are. The architectures that
// there are rules for have the low one first.
func low(argument uint32) uint32  { return argumentOffset + 8*argument }
func high(argument uint32) uint32 { return low(argument) + 4 }

func is(argument uint32, value uint64) []test {
	return []test{
		{high(argument), bpf.JumpEqual, uint32(value >> 32)},
		{low(argument), bpf.JumpEqual, uint32(value)},
	}
}

// isNone is an argument whose low half, which is what the kernel reads of most,
// is none of these values.
func isNone(argument uint32, values ...uint32) []test {
	var tests []test
	for _, value := range values {
		tests = append(tests, test{low(argument), bpf.JumpNotEqual, value})
	}
	return tests
}

// isWide is an argument of more than 32 bits.
func isWide(argument uint32) []test { return []test{{high(argument), bpf.JumpNotEqual, 0}} }

// has is an argument with any of these bits.
func has(argument, bits uint32) []test { return []test{{low(argument), bpf.JumpBitsSet, bits}} }

// hasNone is an argument with none of them.
func hasNone(argument, bits uint32) []test { return []test{{low(argument), bpf.JumpBitsNotSet, bits}} }

// fail is the action by which a call fails.
func fail(errno syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// assemble returns the filter. In it every rule ends with a return of its own,
// so that no jump is a long one: those are what assemblers get wrong. A call of
// another architecture's interface, or of x32, fails as if there were none.
func (p policy) assemble() ([]bpf.RawInstruction, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("making a seccomp filter: %w", err)
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
			return nil, fmt.Errorf("making a seccomp filter: there are too many rules for %s", name)
		}
		program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: uint32(number), SkipTrue: uint8(len(body))})
		program = append(program, body...)
	}
	return bpf.Assemble(append(program, bpf.RetConstant{Val: p.other}))
}

// names are the calls that there are rules for, each once.
func (p policy) names() []string {
	var names []string
	for _, r := range p.rules {
		if !slices.Contains(names, r.call) {
			names = append(names, r.call)
		}
	}
	return names
}

// body is what is done about one call: rule after rule is tried.
func (p policy) body(name string) []bpf.Instruction {
	var body []bpf.Instruction
	for _, r := range p.rules {
		if r.call != name {
			continue
		}
		for i, t := range r.tests {
			const each = 2 // a load and a jump
			left := each*(len(r.tests)-i-1) + 1
			body = append(body, bpf.LoadAbsolute{Off: t.offset, Size: 4}, bpf.JumpIf{Cond: t.cond, Val: t.value, SkipFalse: uint8(left)})
		}
		body = append(body, bpf.RetConstant{Val: p.action})
	}
	return append(body, bpf.RetConstant{Val: p.other})
}
