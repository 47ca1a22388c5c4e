package hint

import (
	"slices"
	"strings"
)

// longest is how many bytes of a name are compared.
const longest = 128

// Nearest returns that of the names which a wrong one resembles most, or "" if it
// resembles none: at most a third of its letters differ, and two where it is
// short. Upper and lower case are the same. Of equals the first counts.
func Nearest(wrong string, names []string) string {
	best, found := max(2, len(wrong)/3)+1, ""
	for _, name := range names {
		if d := EditDistance(strings.ToLower(wrong), strings.ToLower(name)); d < best && d < max(len(wrong), len(name)) {
			best, found = d, name
		}
	}
	return found
}

// EditDistance is how many bytes have to be added, removed or replaced, or changed
// with their neighbour, to make b of a (the optimal string alignment). Of each
// the first 128 bytes count.
func EditDistance(a, b string) int {
	a, b = a[:min(len(a), longest)], b[:min(len(b), longest)]
	var before []int
	last, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = slices.Clone(last), row, last
	}
	return last[len(b)]
}
