package registry_test

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// TestRules checks each rule against the embedded registry.
func TestRules(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		t.Run(name, func(t *testing.T) {
			host, _ := start(t, t.TempDir())
			rules[name].run(t, host)
		})
	}
}

// TestRulesOfDistribution checks the rules against Docker's registry, to find wrong rules.
func TestRulesOfDistribution(t *testing.T) {
	host := remotetest.Registry(t)
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		if rules[name].distribution == "" {
			t.Run(name, func(t *testing.T) { rules[name].run(t, host) })
		}
	}
}

// run runs the steps in their own repository.
func (r rule) run(t *testing.T, host string) {
	t.Helper()
	v := visit{host: host, repository: "rules/" + strings.ToLower(rand.Text())}
	for _, s := range r.steps {
		if v.send(t, s); t.Failed() {
			t.Fatalf("%s: %s", r.section, r.rule)
		}
	}
}

// A visit is the state of a test: registry, repository and upload location.
type visit struct{ host, repository, location string }

func (v *visit) fill(in string) string {
	return strings.NewReplacer("{repo}", v.repository, "{id}", path.Base(v.location), "{location}", v.location).Replace(in)
}

// url returns the URL of a step's path. If the location of the upload has a query already,
// url joins the query of the path with "&".
func (v *visit) url(in string) string {
	in = strings.TrimPrefix(v.fill(in), "http://"+v.host)
	if i := strings.Index(in, "?"); i >= 0 {
		in = in[:i+1] + strings.ReplaceAll(in[i+1:], "?", "&")
	}
	return "http://" + v.host + in
}

// send sends a request and compares the response.
func (v *visit) send(t *testing.T, s step) {
	t.Helper()
	req := e2e.Must(http.NewRequestWithContext(t.Context(), s.method, v.url(s.path), strings.NewReader(s.body)))(t)
	for k, value := range s.header {
		req.Header.Set(k, value)
	}
	if req.Header.Get("Accept") == "" {
		req.Header["Accept"] = []string{imageType, indexType, dockerType}
	}
	resp := e2e.Must(http.DefaultTransport.RoundTrip(req))(t)
	defer func() { _ = resp.Body.Close() }()
	body := e2e.Must(io.ReadAll(resp.Body))(t)
	if resp.StatusCode != s.status {
		t.Errorf("%s %.120s: got %s (%s), want %d", s.method, s.path, resp.Status, body, s.status)
	}
	if got := decode(body); !v.matches(s.code, got) {
		t.Errorf("%s %.120s: got code %q, want %q", s.method, s.path, got, s.code)
	}
	for k, want := range s.want {
		got := resp.Header.Get(k)
		if k == "body" {
			got = string(body)
		}
		if k != "keep" && !v.matches(want, got) {
			t.Errorf("%s %.120s: got %s %q, want %q", s.method, s.path, k, got, want)
		}
	}
	if _, keep := s.want["keep"]; resp.Header.Get("Location") != "" && !keep {
		v.location = resp.Header.Get("Location")
	}
}

func (v *visit) matches(want, got string) bool {
	return regexp.MustCompile(`^(?:` + v.fill(want) + `)$`).MatchString(got)
}

// decode returns the code of an error response. Several errors must have the same code.
func decode(body []byte) (code string) {
	var got struct {
		Errors []struct{ Code string } `json:"errors"`
	}
	if err := json.Unmarshal(body, &got); err != nil || len(got.Errors) == 0 {
		return ""
	}
	for _, e := range got.Errors {
		if e.Code != got.Errors[0].Code {
			return "several"
		}
	}
	return got.Errors[0].Code
}
