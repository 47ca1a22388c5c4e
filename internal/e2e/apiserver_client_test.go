package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// An apiResponse is a response of the API server.
type apiResponse struct {
	// Code is the HTTP status code.
	Code int
	// Object is the object as stored or, if the request failed, a Status.
	Object map[string]any
}

// OK reports whether the server accepted the request.
func (r apiResponse) OK() bool { return r.Code < http.StatusBadRequest }

// Message returns the server's message about a failed request.
func (r apiResponse) Message() string {
	text, _ := r.Object["message"].(string)
	return text
}

// Causes returns the messages for single fields of an invalid object, each with the path
// of the field.
func (r apiResponse) Causes() []string {
	causes, _, _ := unstructured.NestedSlice(r.Object, "details", "causes")
	var all []string
	for _, c := range causes {
		cause, _ := c.(map[string]any)
		all = append(all, fmt.Sprintf("%v: %v", cause["field"], cause["message"]))
	}
	return all
}

// Install creates CRDs and waits until the server serves their kinds.
func (s *apiServer) Install(t testing.TB, crds ...map[string]any) {
	t.Helper()
	for _, crd := range crds {
		if r := s.Create(t, crd, writeOptions{}); !r.OK() {
			t.Fatalf("installing %v: %s", crd["metadata"], r.Message())
		}
	}
	for _, crd := range crds {
		group, _, _ := unstructured.NestedString(crd, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd, "spec", "names", "kind")
		versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
		for _, v := range versions {
			version, _ := v.(map[string]any)
			if version["served"] == true {
				s.awaitKind(t, fmt.Sprintf("%s/%v", group, version["name"]), kind)
			}
		}
	}
}

// awaitKind waits until the server serves a kind.
func (s *apiServer) awaitKind(t testing.TB, apiVersion, kind string) {
	t.Helper()
	e2e.Until(t, func() bool {
		r, ok := s.kind(t, apiVersion, kind)
		return ok && s.do(t, http.MethodGet, r.path("", ""), "", nil).OK()
	})
}

// writeOptions configure a request that writes. By default, the server refuses unknown fields.
type writeOptions struct {
	// DryRun makes the server validate the request and store nothing.
	DryRun bool
	// DropUnknown makes the server drop unknown fields.
	DropUnknown bool
}

func (o writeOptions) query() url.Values {
	q := url.Values{"fieldValidation": {"Strict"}}
	if o.DropUnknown {
		q.Set("fieldValidation", "Ignore")
	}
	if o.DryRun {
		q.Set("dryRun", "All")
	}
	return q
}

// Create creates an object. In all requests, namespaced objects without a namespace get the
// namespace default.
func (s *apiServer) Create(t testing.TB, obj map[string]any, o writeOptions) apiResponse {
	t.Helper()
	u := unstructured.Unstructured{Object: obj}
	return s.send(t, http.MethodPost, obj, u.GetNamespace(), "", "application/json", o.query())
}

// Update replaces the stored object with the name of obj, whatever its version.
func (s *apiServer) Update(t testing.TB, obj map[string]any, o writeOptions) apiResponse {
	t.Helper()
	stored := unstructured.Unstructured{Object: s.Get(t, obj).Object}
	u := (&unstructured.Unstructured{Object: obj}).DeepCopy()
	u.SetResourceVersion(stored.GetResourceVersion())
	return s.send(t, http.MethodPut, u.Object, u.GetNamespace(), u.GetName(), "application/json", o.query())
}

// Apply applies an object with server-side apply. It takes over fields of other owners.
func (s *apiServer) Apply(t testing.TB, obj map[string]any, owner string, o writeOptions) apiResponse {
	t.Helper()
	u, query := unstructured.Unstructured{Object: obj}, o.query()
	query.Set("fieldManager", owner)
	query.Set("force", "true")
	return s.send(t, http.MethodPatch, obj, u.GetNamespace(), u.GetName(), "application/apply-patch+yaml", query)
}

// Delete deletes the stored object with the kind and name of obj.
func (s *apiServer) Delete(t testing.TB, obj map[string]any) apiResponse {
	t.Helper()
	u := unstructured.Unstructured{Object: obj}
	return s.send(t, http.MethodDelete, obj, u.GetNamespace(), u.GetName(), "", nil)
}

// Get returns the stored object with the kind and name of obj.
func (s *apiServer) Get(t testing.TB, obj map[string]any) apiResponse {
	t.Helper()
	u := unstructured.Unstructured{Object: obj}
	return s.send(t, http.MethodGet, obj, u.GetNamespace(), u.GetName(), "", nil)
}

// send sends a request about an object to the path of its kind.
func (s *apiServer) send(t testing.TB, method string, obj map[string]any, namespace, name, contentType string, query url.Values) apiResponse {
	t.Helper()
	apiVersion, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	r, ok := s.kind(t, apiVersion, kind)
	if !ok {
		return apiResponse{Code: http.StatusNotFound, Object: map[string]any{"message": fmt.Sprintf("no matches for kind %q in version %q", kind, apiVersion)}}
	}
	if r.namespaced {
		if namespace == "" {
			namespace = "default"
		}
		s.ensureNamespace(t, namespace)
	} else {
		namespace = ""
	}
	path := r.path(namespace, name)
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return s.do(t, method, path, contentType, obj)
}

// ensureNamespace creates a namespace unless it exists or its name is invalid.
func (s *apiServer) ensureNamespace(t testing.TB, name string) {
	t.Helper()
	if !s.do(t, http.MethodGet, "/api/v1/namespaces/"+url.PathEscape(name), "", nil).OK() {
		s.do(t, http.MethodPost, "/api/v1/namespaces", "application/json", map[string]any{"metadata": map[string]any{"name": name}})
	}
}

// A servedKind is a kind as the server serves it.
type servedKind struct {
	// root is the path of the API version, such as /apis/apps/v1.
	root, plural string
	namespaced   bool
}

// path returns the path of a named object, or of all if name is empty.
func (r servedKind) path(namespace, name string) string {
	parts := []string{r.root}
	if namespace != "" {
		parts = append(parts, "namespaces", url.PathEscape(namespace))
	}
	parts = append(parts, r.plural)
	if name != "" {
		parts = append(parts, url.PathEscape(name))
	}
	return strings.Join(parts, "/")
}

// kind asks the server for a kind.
func (s *apiServer) kind(t testing.TB, apiVersion, kind string) (servedKind, bool) {
	t.Helper()
	root := "/apis/" + apiVersion
	if !strings.Contains(apiVersion, "/") {
		root = "/api/" + apiVersion
	}
	all, _, _ := unstructured.NestedSlice(s.do(t, http.MethodGet, root, "", nil).Object, "resources")
	for _, a := range all {
		known, _ := a.(map[string]any)
		name, _ := known["name"].(string)
		if known["kind"] == kind && !strings.Contains(name, "/") {
			return servedKind{root: root, plural: name, namespaced: known["namespaced"] == true}, true
		}
	}
	return servedKind{}, false
}

// do sends a request. It fails the test if the server does not answer.
func (s *apiServer) do(t testing.TB, method, path, contentType string, obj map[string]any) apiResponse {
	t.Helper()
	r, err := s.request(e2e.Context(t), method, path, contentType, obj)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

// request sends a request with the JSON of obj, unless obj is nil.
func (s *apiServer) request(ctx context.Context, method, path, contentType string, obj map[string]any) (apiResponse, error) {
	var body io.Reader
	if contentType != "" {
		data, err := json.Marshal(obj)
		if err != nil {
			return apiResponse{}, err
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, body)
	if err != nil {
		return apiResponse{}, err
	}
	req.Header.Set("Authorization", "Bearer "+apiToken)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return apiResponse{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return apiResponse{}, err
	}
	r := apiResponse{Code: resp.StatusCode}
	// Some answers, such as the answer of /readyz, are plain text.
	if kjson.Unmarshal(data, &r.Object) != nil {
		r.Object = map[string]any{"message": string(data)}
	}
	return r, nil
}
