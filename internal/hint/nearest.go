package hint

import (
	"slices"
	"strings"
)

// longest limits the compared bytes of a name.
const longest = 128

// Nearest returns the first of the names with the smallest EditDistance,
// ignoring case, or "" if more than a third of the bytes, and more than two,
// differ.
func Nearest(wrong string, names []string) string {
	best, found := max(2, len(wrong)/3)+1, ""
	for _, name := range names {
		if d := EditDistance(strings.ToLower(wrong), strings.ToLower(name)); d < best && d < max(len(wrong), len(name)) {
			best, found = d, name
		}
	}
	return found
}

// EditDistance returns the number of edits from a to b: added, removed,
// replaced and swapped bytes (optimal string alignment). It compares the first
// 128 bytes.
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
