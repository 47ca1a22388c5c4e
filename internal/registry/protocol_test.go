package registry_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

const emptyManifest = `{"schemaVersion":2}`

func sum(s string) string { return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(s))) }

// A step is one request, and what has to come back.
type step struct {
	method, path, body string
	header             map[string]string
	status             int
	code               string
	want               map[string]string
}

// begin starts an upload.
var begin = step{method: "POST", path: "/v2/a/blobs/uploads/", status: 202, want: map[string]string{"Range": "0-0"}}

// protocol holds rules of the OCI distribution spec, one case each. In a path,
// {location} stands for the last Location that was given.
var protocol = map[string][]step{
	"VersionCheck": {{method: "GET", path: "/v2/", status: 200}},
	"UploadStreamed": {
		begin,
		{method: "PATCH", path: "{location}", body: "hello", status: 202, want: map[string]string{"Range": "0-4"}},
		{method: "PUT", path: "{location}?digest=" + sum("hello"), status: 201, want: map[string]string{"Location": "/v2/a/blobs/" + sum("hello"), "Docker-Content-Digest": sum("hello")}},
		{method: "HEAD", path: "/v2/a/blobs/" + sum("hello"), status: 200, want: map[string]string{"Content-Length": "5", "Docker-Content-Digest": sum("hello")}},
		{method: "GET", path: "/v2/a/blobs/" + sum("hello"), status: 200, want: map[string]string{"body": "hello"}},
	},
	"UploadThenPut":    {begin, {method: "PUT", path: "{location}?digest=" + sum("put"), body: "put", status: 201}},
	"UploadMonolithic": {{method: "POST", path: "/v2/a/blobs/uploads/?digest=" + sum("mono"), body: "mono", status: 201}, {method: "GET", path: "/v2/a/blobs/" + sum("mono"), status: 200, want: map[string]string{"body": "mono"}}},
	"UploadInChunks": {
		begin,
		{method: "PATCH", path: "{location}", header: map[string]string{"Content-Range": "0-1"}, body: "ab", status: 202, want: map[string]string{"Range": "0-1"}},
		{method: "PATCH", path: "{location}", header: map[string]string{"Content-Range": "3-4"}, body: "xx", status: 416, want: map[string]string{"Range": "0-1"}},
		{method: "GET", path: "{location}", status: 204, want: map[string]string{"Range": "0-1"}},
		{method: "PATCH", path: "{location}", header: map[string]string{"Content-Range": "2-3"}, body: "cd", status: 202, want: map[string]string{"Range": "0-3"}},
		{method: "PUT", path: "{location}?digest=" + sum("abcd"), status: 201},
	},
	"UploadCancelled": {
		begin,
		{method: "DELETE", path: "{location}", status: 204},
		{method: "PATCH", path: "{location}", body: "x", status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
		{method: "GET", path: "{location}", status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
		{method: "DELETE", path: "{location}", status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
	},
	"UploadEndsOnce": {
		begin,
		{method: "PUT", path: "{location}?digest=" + sum("once"), body: "once", status: 201, want: map[string]string{"keep": ""}},
		{method: "PUT", path: "{location}?digest=" + sum("once"), body: "once", status: 404, code: "BLOB_UPLOAD_UNKNOWN"},
	},
	"UploadOfAnotherDigest": {
		begin,
		{method: "PUT", path: "{location}?digest=" + sum("right"), body: "wrong", status: 400, code: "DIGEST_INVALID"},
		{method: "HEAD", path: "/v2/a/blobs/" + sum("right"), status: 404},
		{method: "HEAD", path: "/v2/a/blobs/" + sum("wrong"), status: 404},
	},
	"UploadWithoutDigest":   {begin, {method: "PUT", path: "{location}", body: "x", status: 400, code: "DIGEST_INVALID"}},
	"UploadOfBadDigest":     {begin, {method: "PUT", path: "{location}?digest=sha256:../../x", body: "x", status: 400, code: "DIGEST_INVALID"}},
	"UploadOfBadRepository": {{method: "POST", path: "/v2/A/../b/blobs/uploads/", status: 400, code: "NAME_INVALID"}},
	"UploadByPatch":         {{method: "PATCH", path: "/v2/a/blobs/uploads/", status: 405, code: "UNSUPPORTED"}},
	"UploadByBrewing":       {begin, {method: "BREW", path: "{location}", status: 405, code: "UNSUPPORTED"}},
	"MountIsOptional":       {{method: "POST", path: "/v2/a/blobs/uploads/?mount=" + sum("x") + "&from=b", status: 202}},
	"BlobRange": {
		{method: "POST", path: "/v2/a/blobs/uploads/?digest=" + sum("0123456789"), body: "0123456789", status: 201},
		{method: "GET", path: "/v2/a/blobs/" + sum("0123456789"), header: map[string]string{"Range": "bytes=2-4"}, status: 206, want: map[string]string{"body": "234"}},
	},
	"BlobUnknown":       {{method: "GET", path: "/v2/a/blobs/" + sum("?"), status: 404, code: "BLOB_UNKNOWN"}},
	"BlobDeleteIsNot":   {{method: "DELETE", path: "/v2/a/blobs/" + sum("?"), status: 405, code: "UNSUPPORTED"}},
	"ManifestUnknown":   {{method: "GET", path: "/v2/nothing/manifests/v1", status: 404, code: "NAME_UNKNOWN"}},
	"ManifestDeleteNot": {{method: "DELETE", path: "/v2/nothing/manifests/v1", status: 404, code: "NAME_UNKNOWN"}},
	"ManifestByTag": {
		{method: "PUT", path: "/v2/m/manifests/v1", body: emptyManifest, header: map[string]string{"Content-Type": "x/y"}, status: 201, want: map[string]string{"Location": "/v2/m/manifests/v1", "Docker-Content-Digest": sum(emptyManifest)}},
		{method: "GET", path: "/v2/m/manifests/v1", status: 200, want: map[string]string{"body": emptyManifest, "Content-Type": "x/y"}},
		{method: "GET", path: "/v2/m/manifests/" + sum(emptyManifest), status: 200, want: map[string]string{"body": emptyManifest}},
		{method: "GET", path: "/v2/m/tags/list", status: 200, want: map[string]string{"body": `{"name":"m","tags":["v1"]}`}},
		{method: "DELETE", path: "/v2/m/manifests/v1", status: 202},
		{method: "GET", path: "/v2/m/manifests/v1", status: 404, code: "MANIFEST_UNKNOWN"},
	},
	"ManifestByDigest":        {{method: "PUT", path: "/v2/m/manifests/" + sum(emptyManifest), body: emptyManifest, status: 201}},
	"ManifestOfAnotherDigest": {{method: "PUT", path: "/v2/m/manifests/" + sum("x"), body: emptyManifest, status: 400, code: "MANIFEST_INVALID"}},
	"ManifestOfBadDigest":     {{method: "PUT", path: "/v2/m/manifests/sha256:00", body: emptyManifest, status: 400, code: "MANIFEST_INVALID"}},
	"ManifestOfBadTag":        {{method: "PUT", path: "/v2/m/manifests/-v1", body: emptyManifest, status: 400, code: "MANIFEST_INVALID"}},
	"ManifestNotJSON":         {{method: "PUT", path: "/v2/m/manifests/v1", body: "hello", status: 400, code: "MANIFEST_INVALID"}},
	"ManifestByPost":          {{method: "POST", path: "/v2/m/manifests/v1", body: emptyManifest, status: 405, code: "UNSUPPORTED"}},
	"ManifestOfBadRepository": {{method: "PUT", path: "/v2/M/manifests/v1", body: emptyManifest, status: 400, code: "NAME_INVALID"}},
	"ManifestTooLarge":        {{method: "PUT", path: "/v2/m/manifests/v1", body: `"` + strings.Repeat("x", 4<<20) + `"`, status: 413, code: "SIZE_INVALID"}},
	"ManifestAtTheLimit":      {{method: "PUT", path: "/v2/m/manifests/v1", body: `"` + strings.Repeat("x", 4<<20-2) + `"`, status: 201}},
	"IndexWithoutItsChild": {{
		method: "PUT", path: "/v2/m/manifests/v1", header: map[string]string{"Content-Type": "application/vnd.oci.image.index.v1+json"},
		body:   fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":1,"digest":%q}]}`, sum("child")),
		status: 404, code: "MANIFEST_UNKNOWN",
	}},
	"TagsOfNegativeCount": {{method: "GET", path: "/v2/m/tags/list?n=-1", status: 400, code: "PAGINATION_NUMBER_INVALID"}},
	"TagsCannotBeWritten": {{method: "PUT", path: "/v2/m/tags/list", status: 405, code: "UNSUPPORTED"}},
}

func TestProtocol(t *testing.T) {
	for name, steps := range protocol {
		t.Run(name, func(t *testing.T) {
			host, _ := start(t, t.TempDir())
			location := ""
			for i, s := range steps {
				s.path = strings.Replace(s.path, "{location}", location, 1)
				resp := s.send(t, i, host)
				if next := resp.Header.Get("Location"); next != "" && resp.StatusCode != http.StatusCreated {
					location = next
				}
			}
		})
	}
}

func (s step) send(t *testing.T, i int, host string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), s.method, "http://"+host+s.path, strings.NewReader(s.body))
	must(t, err)
	for k, v := range s.header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	must(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode != s.status {
		t.Fatalf("step %d, %s %.80s: got %s (%s), want %d", i, s.method, s.path, resp.Status, body, s.status)
	}
	if got := decode(t, strings.NewReader(string(body))); got != s.code {
		t.Errorf("step %d, %s %.80s: got code %q, want %q", i, s.method, s.path, got, s.code)
	}
	for k, want := range s.want {
		got := resp.Header.Get(k)
		if k == "body" {
			got = string(body)
		}
		if k != "keep" && got != want {
			t.Errorf("step %d, %s %.80s: got %s %q, want %q", i, s.method, s.path, k, got, want)
		}
	}
	return resp
}
