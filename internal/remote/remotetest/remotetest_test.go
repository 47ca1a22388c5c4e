package remotetest_test

import (
	"runtime"
	"testing"

	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// outcome is a test that notes how it ended.
type outcome struct {
	testing.TB
	end string
}

func (o *outcome) Helper() {}

func (o *outcome) Skip(...any) { o.stop("skip") }

func (o *outcome) Fatal(...any) { o.stop("fail") }

func (o *outcome) stop(end string) {
	o.end = end
	runtime.Goexit()
}

func TestRegistry(t *testing.T) {
	cases := map[string]struct {
		reason              string
		host, require, want string
	}{
		"There":         {"the service is there", "127.0.0.1:5000", "registry", "127.0.0.1:5000"},
		"Absent":        {"a test may skip for a missing service", "", "", "skip"},
		"OtherRequired": {"another service is another matter", "", "docker,python", "skip"},
		"Required":      {"but not if the service is required", "", "docker,registry", "fail"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("XFN_TEST_REGISTRY", tc.host)
			t.Setenv("XFN_REQUIRE", tc.require)
			o := &outcome{TB: t}
			done := make(chan struct{})
			go func() {
				defer close(done)
				o.end = remotetest.Registry(o)
			}()
			<-done
			if o.end != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, o.end, tc.want)
			}
		})
	}
}
