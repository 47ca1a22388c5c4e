package fieldpath

import "strings"

// Natural compares strings in natural order: numbers in them are compared by
// value, so port2 is before port10.
func Natural(a, b string) int {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if digit(a[i]) && digit(b[j]) {
			m, n := digits(a[i:]), digits(b[j:])
			if c := compareDigits(a[i:i+m], b[j:j+n]); c != 0 {
				return c
			}
			i, j = i+m, j+n
			continue
		}
		if a[i] != b[j] {
			return int(a[i]) - int(b[j])
		}
		i, j = i+1, j+1
	}
	if rest := (len(a) - i) - (len(b) - j); rest != 0 {
		return rest
	}
	return strings.Compare(a, b)
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func digits(s string) int {
	n := 0
	for n < len(s) && digit(s[n]) {
		n++
	}
	return n
}

func compareDigits(a, b string) int {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
