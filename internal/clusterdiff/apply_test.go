package clusterdiff

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/e2e"
)

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	var o map[string]any
	e2e.NoError(t, kjson.Unmarshal([]byte(text), &o))
	return o
}

func TestApply(t *testing.T) {
	cases := map[string]struct{ reason, live, desired, previous, want string }{
		"Set":        {"desired fields are set", `{"a":1}`, `{"a":2,"b":3}`, "", `{"a":2,"b":3}`},
		"Foreign":    {"fields of other owners are kept", `{"a":{"mine":1,"theirs":2}}`, `{"a":{"mine":3}}`, "", `{"a":{"mine":3,"theirs":2}}`},
		"Gone":       {"fields that only the last apply has are removed", `{"a":1,"b":2,"c":3}`, `{"a":1}`, `{"a":1,"b":2}`, `{"a":1,"c":3}`},
		"GoneDeep":   {"an object that becomes empty is removed", `{"a":{"b":{"c":1}},"d":{"e":1,"f":2}}`, `{}`, `{"a":{"b":{"c":1}},"d":{"e":1}}`, `{"d":{"f":2}}`},
		"Unknown":    {"without a last apply no field is removed", `{"a":1,"b":2}`, `{"a":1}`, "", `{"a":1,"b":2}`},
		"GoneBefore": {"a missing field of the last apply is ignored", `{"a":1}`, `{"a":1}`, `{"a":1,"b":{"c":1}}`, `{"a":1}`},
		"Type":       {"an object replaces a scalar", `{"a":"x"}`, `{"a":{"b":1}}`, `{"a":"x"}`, `{"a":{"b":1}}`},
		"Scalar":     {"a scalar replaces an object", `{"a":{"b":1}}`, `{"a":"x"}`, `{"a":{"b":1}}`, `{"a":"x"}`},
		"List":       {"a list of scalars is replaced", `{"a":[1,2]}`, `{"a":[2]}`, `{"a":[1,2]}`, `{"a":[2]}`},
		"Numbers":    {"1 and 1.0 are equal", `{"a":[1.0,{"b":2}]}`, `{"a":[1,{"b":2.0}]}`, "", `{"a":[1.0,{"b":2}]}`},
		"ByName": {
			"list items with unique names are merged and keep fields of the API server",
			`{"c":[{"name":"x","image":"1","pull":"Always"},{"name":"sidecar","image":"s"}]}`, `{"c":[{"name":"x","image":"2"},{"name":"new"}]}`, "",
			`{"c":[{"name":"x","image":"2","pull":"Always"},{"name":"sidecar","image":"s"},{"name":"new"}]}`,
		},
		"ByNameGone": {
			"list items and fields that only the last apply has are removed",
			`{"c":[{"name":"x","a":1,"b":2},{"name":"y"},{"name":"z"}]}`, `{"c":[{"name":"x","a":1}]}`, `{"c":[{"name":"x","a":1,"b":2},{"name":"y"}]}`,
			`{"c":[{"name":"x","a":1},{"name":"z"}]}`,
		},
		"SameName": {"a list of items with duplicate names is compared by index", `{"c":[{"name":"x","a":1}]}`, `{"c":[{"name":"x"},{"name":"x"}]}`, "", `{"c":[{"name":"x","a":1},{"name":"x"}]}`},
		"Grows":    {"items of a longer list without names keep the fields of the API server", `{"p":[{"port":80,"protocol":"TCP"}]}`, `{"p":[{"port":80},{"port":81}]}`, "", `{"p":[{"port":80,"protocol":"TCP"},{"port":81}]}`},
		"ByIndex":  {"a list without names is kept if it has all desired fields", `{"p":[{"port":80,"protocol":"TCP"}]}`, `{"p":[{"port":80}]}`, "", `{"p":[{"port":80,"protocol":"TCP"}]}`},
		"Replaced": {"a list without names is replaced if it lacks a desired field", `{"p":[{"port":80,"protocol":"TCP"}]}`, `{"p":[{"port":81}]}`, "", `{"p":[{"port":81}]}`},
		"Null":     {"a null is a value", `{"a":1}`, `{"a":null}`, "", `{"a":null}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			live, desired, previous := object(t, tc.live), object(t, tc.desired), object(t, tc.previous)
			got := e2e.Must(apply(nil, "owner", live, desired, previous))(t)
			e2e.Equal(t, tc.reason, object(t, tc.want), got.after)
			for text, in := range map[string]map[string]any{tc.live: live, tc.desired: desired, tc.previous: previous} {
				e2e.Equal(t, tc.reason+": an argument was changed", object(t, text), in)
			}
		})
	}
}

// FuzzApply checks that applying the same desired object a second time changes nothing.
func FuzzApply(f *testing.F) {
	f.Add(`{"a":[{"name":"x"}],"b":{"c":1}}`, `{"a":[{"name":"y"}]}`, `{"b":{"c":1}}`)
	f.Add(`{"a":{}}`, `{"a":[]}`, `{"a":{"b":[{"name":"x"}]}}`)
	f.Fuzz(func(t *testing.T, live, desired, previous string) {
		var l, d, p map[string]any
		if kjson.Unmarshal([]byte(live), &l) != nil || kjson.Unmarshal([]byte(desired), &d) != nil || kjson.Unmarshal([]byte(previous), &p) != nil || l == nil {
			return
		}
		once, err := apply(nil, "owner", l, d, p)
		if err != nil {
			return
		}
		twice, err := apply(nil, "owner", once.after, d, d)
		if diff := cmp.Diff(once.after, twice.after); diff != "" || err != nil {
			text, _ := json.Marshal(once.after)
			t.Errorf("%s changes again (-once +twice):\n%s", text, diff)
		}
	})
}
