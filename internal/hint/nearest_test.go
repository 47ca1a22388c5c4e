package hint_test

import (
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/hint"
)

func TestName(t *testing.T) {
	cases := map[string]struct {
		reason, wrong string
		names         []string
		want          string
	}{
		"Swapped":    {"two swapped letters are similar", "regoin", []string{"region", "reason"}, "region"},
		"Missing":    {"a missing letter is similar", "equls", []string{"exists", "equals"}, "equals"},
		"Case":       {"case is ignored", "extraresources", []string{"extraResources"}, "extraResources"},
		"First":      {"the first of several equally similar names is returned", "ab", []string{"abc", "abd"}, "abc"},
		"Far":        {"a name that differs too much is not returned", "region", []string{"size", "name"}, ""},
		"AllDiffers": {"a name without a common letter is not returned", "ab", []string{"cd"}, ""},
		"None":       {"an empty list of names has no match", "a", nil, ""},
		"OtherWord":  {"a name with another word has another meaning", "compositeDeletePolicy", []string{"compositionUpdatePolicy"}, ""},
		"Words":      {"a misspelled word of several is similar", "compositonUpdtePolicy", []string{"compositionUpdatePolicy"}, "compositionUpdatePolicy"},
		"Itself":     {"an exact match is returned", "x", []string{"y", "x"}, "x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e2e.Equal(t, tc.reason, tc.want, hint.Nearest(tc.wrong, tc.names))
		})
	}
}

func TestMisspelled(t *testing.T) {
	for _, tc := range []struct {
		reason, name, near string
		want               bool
	}{
		{"a letter is missing", "regio", "region", true},
		{"two letters are swapped", "ConfigMpa", "ConfigMap", true},
		{"a letter of one word is doubled", "my-buckket", "my-bucket", true},
		{"a short word in camel case has one letter more", "ConfigMapp", "ConfigMap", true},
		{"a dash is missing", "mybucket", "my-bucket", true},
		{"a letter has another case", "kmsKeyId", "kmsKeyID", true},
		{"names are equal", "config", "config", false},
		{"names differ in a digit", "ipv6CidrBlock", "ipv4CidrBlock", false},
		{"names differ in a letter after a digit", "eu-west-1a", "eu-west-1b", false},
		{"names differ in a word of one letter", "subnet-a-private", "subnet-b-private", false},
		{"names with underscores differ in a word of one letter", "zone_a", "zone_b", false},
		{"names in camel case differ in a last letter", "subnetA", "subnetB", false},
		{"names differ in a last letter", "subneta", "subnetb", false},
		{"one name is a plural", "subnetId", "subnetIds", false},
		{"one name is a plural of a word with a last e", "name", "names", false},
		{"one word is a plural", "bucket-policy", "buckets-policy", false},
		{"short words differ", "logs-eu", "logs-u", false},
		{"short words in camel case differ", "cpuCount", "gpuCount", false},
		{"the letters of a short word are swapped", "logs-es", "logs-se", false},
		{"kinds differ in a capital letter before a word", "XWidget", "Widget", false},
		{"kinds differ in a capital letter of an abbreviation", "AKSCluster", "EKSCluster", false},
		{"other words differ", "bucket-eu", "bucket-us", false},
	} {
		for _, names := range [][2]string{{tc.name, tc.near}, {tc.near, tc.name}} {
			if got := hint.Misspelled(names[0], names[1:]); (got == names[1]) != tc.want || !tc.want && got != "" {
				t.Errorf("%s: got %q for %q, want misspelled: %v", tc.reason, got, names, tc.want)
			}
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abcd", "acbd", 1}, {"flaw", "lawn", 2}} {
		if got := hint.EditDistance(tc.a, tc.b); got != tc.want || hint.EditDistance(tc.b, tc.a) != tc.want {
			t.Errorf("%q, %q: got %d, want %d", tc.a, tc.b, got, tc.want)
		}
	}
}
