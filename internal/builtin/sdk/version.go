package sdk

import (
	"maps"
	"slices"

	"golang.org/x/mod/semver"
)

// Since reports whether a version of a real function, such as v0.7.1, is since or later. The
// branch main is later than all releases. Any other text, such as "", means the release newest.
func Since(version, newest, since string) bool {
	if version == "main" {
		return true
	}
	if !semver.IsValid(version) {
		version = newest
	}
	return semver.Compare(version, since) >= 0
}

// Absent returns the paths of fields that a version does not have, for Decode. since has the
// first version with each field.
func Absent(version, newest string, since map[string]string) []string {
	var absent []string
	for _, path := range slices.Sorted(maps.Keys(since)) {
		if !Since(version, newest, since[path]) {
			absent = append(absent, path)
		}
	}
	return absent
}
