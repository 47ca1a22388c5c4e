package sdk

import "golang.org/x/mod/semver"

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
