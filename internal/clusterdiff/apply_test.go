package clusterdiff

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	var o map[string]any
	if err := kjson.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	return o
}

func TestApply(t *testing.T) {
	cases := map[string]struct{ reason, live, desired, previous, want string }{
		"Set":        {"what is desired is set", `{"a":1}`, `{"a":2,"b":3}`, "", `{"a":2,"b":3}`},
		"Foreign":    {"what others set stays", `{"a":{"mine":1,"theirs":2}}`, `{"a":{"mine":3}}`, "", `{"a":{"mine":3,"theirs":2}}`},
		"Gone":       {"what only the last apply had goes", `{"a":1,"b":2,"c":3}`, `{"a":1}`, `{"a":1,"b":2}`, `{"a":1,"c":3}`},
		"GoneDeep":   {"and an object with it, if nothing else is in there", `{"a":{"b":{"c":1}},"d":{"e":1,"f":2}}`, `{}`, `{"a":{"b":{"c":1}},"d":{"e":1}}`, `{"d":{"f":2}}`},
		"Unknown":    {"without a last apply nothing goes", `{"a":1,"b":2}`, `{"a":1}`, "", `{"a":1,"b":2}`},
		"GoneBefore": {"what is not there cannot go", `{"a":1}`, `{"a":1}`, `{"a":1,"b":{"c":1}}`, `{"a":1}`},
		"Type":       {"an object replaces what is none", `{"a":"x"}`, `{"a":{"b":1}}`, `{"a":"x"}`, `{"a":{"b":1}}`},
		"Scalar":     {"and the other way round", `{"a":{"b":1}}`, `{"a":"x"}`, `{"a":{"b":1}}`, `{"a":"x"}`},
		"List":       {"a list of scalars is replaced", `{"a":[1,2]}`, `{"a":[2]}`, `{"a":[1,2]}`, `{"a":[2]}`},
		"Numbers":    {"1 is 1.0", `{"a":[1.0,{"b":2}]}`, `{"a":[1,{"b":2.0}]}`, "", `{"a":[1.0,{"b":2}]}`},
		"ByName": {
			"objects with names are merged: a container keeps what the API server gave it",
			`{"c":[{"name":"x","image":"1","pull":"Always"},{"name":"sidecar","image":"s"}]}`, `{"c":[{"name":"x","image":"2"},{"name":"new"}]}`, "",
			`{"c":[{"name":"x","image":"2","pull":"Always"},{"name":"sidecar","image":"s"},{"name":"new"}]}`,
		},
		"ByNameGone": {
			"one that is applied no more goes, and so does a field of one that stays",
			`{"c":[{"name":"x","a":1,"b":2},{"name":"y"},{"name":"z"}]}`, `{"c":[{"name":"x","a":1}]}`, `{"c":[{"name":"x","a":1,"b":2},{"name":"y"}]}`,
			`{"c":[{"name":"x","a":1},{"name":"z"}]}`,
		},
		"SameName": {"objects that share a name are replaced", `{"c":[{"name":"x","a":1}]}`, `{"c":[{"name":"x"},{"name":"x"}]}`, "", `{"c":[{"name":"x"},{"name":"x"}]}`},
		"ByIndex":  {"others stay if they have all that is desired", `{"p":[{"port":80,"protocol":"TCP"}]}`, `{"p":[{"port":80}]}`, "", `{"p":[{"port":80,"protocol":"TCP"}]}`},
		"Replaced": {"and are replaced if not", `{"p":[{"port":80,"protocol":"TCP"}]}`, `{"p":[{"port":81}]}`, "", `{"p":[{"port":81}]}`},
		"Null":     {"a null is a value", `{"a":1}`, `{"a":null}`, "", `{"a":null}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			live, desired, previous := object(t, tc.live), object(t, tc.desired), object(t, tc.previous)
			got := apply(live, desired, previous)
			if diff := cmp.Diff(object(t, tc.want), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			for text, in := range map[string]map[string]any{tc.live: live, tc.desired: desired, tc.previous: previous} {
				if diff := cmp.Diff(object(t, text), in); diff != "" {
					t.Errorf("%s: an argument was changed (-was +is):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// Applying twice is applying once, whatever the objects are.
func FuzzApply(f *testing.F) {
	f.Add(`{"a":[{"name":"x"}],"b":{"c":1}}`, `{"a":[{"name":"y"}]}`, `{"b":{"c":1}}`)
	f.Add(`{"a":{}}`, `{"a":[]}`, `{"a":{"b":[{"name":"x"}]}}`)
	f.Fuzz(func(t *testing.T, live, desired, previous string) {
		var l, d, p map[string]any
		if kjson.Unmarshal([]byte(live), &l) != nil || kjson.Unmarshal([]byte(desired), &d) != nil || kjson.Unmarshal([]byte(previous), &p) != nil || l == nil {
			return
		}
		once := apply(l, d, p)
		if diff := cmp.Diff(once, apply(once, d, d)); diff != "" {
			text, _ := json.Marshal(once)
			t.Errorf("%s changes again (-once +twice):\n%s", text, diff)
		}
	})
}
