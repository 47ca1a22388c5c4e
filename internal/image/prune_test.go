package image_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ggcr "github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/registry"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/remotetest"
)

// The test binary runs itself as a child process with this environment variable set to "DIR
// REFERENCE". The child pulls an image, prints lines when the first and the last bytes
// arrive, and waits for the end of its standard input. "file PATH REFERENCE" and "blob DIR"
// select fileChild and blobChild.
const childEnv = "IMAGE_TEST_CHILD"

func TestMain(m *testing.M) {
	if args := os.Getenv(childEnv); args != "" {
		if err := child(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(args string) error {
	if args, ok := strings.CutPrefix(args, "file "); ok {
		return fileChild(args)
	}
	if dir, ok := strings.CutPrefix(args, "blob "); ok {
		return blobChild(dir)
	}
	dir, reference, _ := strings.Cut(args, " ")
	s, err := image.Open(dir)
	if err != nil {
		return err
	}
	ref, err := remote.ParseReference(reference, "")
	if err != nil {
		return err
	}
	platform := v1.Platform{OS: "linux", Architecture: "amd64"}
	o := quick()
	o.Progress = func(e progress.Event) {
		if e.Done > 0 {
			fmt.Println("moved")
		}
	}
	if _, err := s.Image(context.Background(), image.Request{Reference: ref, Platform: platform}, o); err != nil {
		return err
	}
	fmt.Println("pulled")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, s.Close())
}

// A puller is a child process.
type puller struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Scanner
}

func start(t *testing.T, dir string, ref name.Reference) puller {
	t.Helper()
	exe := e2e.Must(os.Executable())(t)
	cmd := exec.CommandContext(e2e.Context(t), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir+" "+ref.Name())
	cmd.Stderr = os.Stderr
	in := e2e.Must(cmd.StdinPipe())(t)
	out := e2e.Must(cmd.StdoutPipe())(t)
	e2e.NoError(t, cmd.Start())
	return puller{cmd, in, bufio.NewScanner(out)}
}

// says waits until the process prints a line.
func (p puller) says(t *testing.T, what string) {
	t.Helper()
	for p.out.Scan() {
		if p.out.Text() == what {
			return
		}
	}
	t.Fatalf("the process did not print %q (%v)", what, p.out.Err())
}

func (p puller) end(t *testing.T) {
	t.Helper()
	e2e.NoError(t, p.in.Close())
	e2e.NoError(t, e2e.Await(t, p.cmd.Wait))
}

func prune(t *testing.T, s *image.Store, before time.Time, dry bool) image.Info {
	t.Helper()
	return e2e.Must(s.Prune(t.Context(), before, dry))(t)
}

func names(refs []image.Ref) string {
	var all []string
	for _, r := range refs {
		_, last, _ := strings.Cut(r.Reference, "/")
		all = append(all, last)
	}
	return strings.Join(all, " ")
}

// two creates a cache with two unused images that share no blob, and returns
// their requests. The first was last used an hour ago.
func two(t *testing.T, dir string) []image.Request {
	t.Helper()
	host := remotetest.Serve(t, remotetest.Handler())
	s := e2e.Must(image.Open(dir))(t)
	var requests []image.Request
	for _, repo := range []string{"a", "b"} {
		ref := mustRef(t, host+"/"+repo+":v1")
		e2e.NoError(t, ggcr.Push(ref, indexFor(t, "linux/amd64", "linux/arm64")))
		r := on(ref, "linux/amd64", t)
		e2e.Must(s.Image(t.Context(), r, quick()))(t)
		requests = append(requests, r)
	}
	info := e2e.Must(s.Info(t.Context()))(t)
	for _, f := range e2e.Must(filepath.Glob(filepath.Join(dir, "refs", "*.json")))(t) {
		raw := e2e.Must(os.ReadFile(f))(t)
		if strings.Contains(string(raw), info.Refs[0].Reference) {
			hourAgo := time.Now().Add(-time.Hour)
			e2e.NoError(t, os.Chtimes(f, hourAgo, hourAgo))
		}
	}
	e2e.NoError(t, s.Close())
	return requests
}

func TestInfo(t *testing.T) {
	dir := t.TempDir()
	before := time.Now().Add(-time.Second)
	two(t, dir)
	info := e2e.Must(openStore(t, dir).Info(t.Context()))(t)
	// Each image has an index, a manifest, a config and two layers.
	if names(info.Refs) != "a:v1 b:v1" || info.Blobs != 10 || info.Leftovers != 0 || info.Refs[0].Bytes+info.Refs[1].Bytes != info.Bytes {
		t.Errorf("got %+v", info)
	}
	if info.Refs[0].Resolved.Before(before) || info.Refs[1].Used.Before(before) || !info.Refs[0].Used.Before(before) {
		t.Errorf("got times %+v", info.Refs)
	}
	e2e.Equal(t, "an empty cache has no content", image.Info{}, e2e.Must(openStore(t, t.TempDir()).Info(t.Context()))(t))
}

func TestPrune(t *testing.T) {
	ago := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	cases := map[string]struct {
		reason string
		before time.Time
		hold   bool // whether an open Store has returned the first image
		gone   string
		blobs  int
	}{
		"Nothing":   {"blobs of references are kept", time.Time{}, false, "", 0},
		"Old":       {"an old reference is removed", ago(time.Minute), false, "a:v1", 5},
		"NotSoOld":  {"a recently used reference is kept", ago(2 * time.Hour), false, "", 0},
		"All":       {"all references are removed", ago(-time.Hour), false, "a:v1 b:v1", 10},
		"InUse":     {"images of a running process are kept", ago(-time.Hour), true, "b:v1", 5},
		"UsedAgain": {"a used reference is not old", ago(time.Minute), true, "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			requests := two(t, dir)
			if tc.hold {
				e2e.Must(openStore(t, dir).Image(t.Context(), requests[0], offline()))(t)
			}
			s := openStore(t, dir)
			for _, dry := range []bool{true, false} {
				removed := prune(t, s, tc.before, dry)
				if names(removed.Refs) != tc.gone || removed.Blobs != tc.blobs {
					t.Errorf("%s: dry %v: removed %+v, want %q and %d blobs", tc.reason, dry, removed, tc.gone, tc.blobs)
				}
			}
			for _, r := range requests {
				_, last, _ := strings.Cut(r.Reference.Name(), "/")
				_, err := s.Image(t.Context(), r, offline())
				e2e.Equal(t, tc.reason+": "+last, err != nil, strings.Contains(tc.gone, last))
			}
		})
	}
}

// Blobs without references and broken records are always removed. Other files are kept.
func TestPruneLeftovers(t *testing.T) {
	dir := t.TempDir()
	tag := parse(t, remotetest.Serve(t, remotetest.Handler()))
	s := e2e.Must(image.Open(dir))(t)
	r := on(tag, "linux/amd64", t)
	r.Policy = image.Always
	for range 2 {
		e2e.NoError(t, ggcr.Write(tag, imageFor(t, "linux/amd64")))
		e2e.Must(s.Image(t.Context(), r, quick()))(t)
	}
	if removed := prune(t, s, time.Time{}, false); removed.Blobs != 0 {
		t.Errorf("%d blobs of a held image were removed", removed.Blobs)
	}
	e2e.NoError(t, s.Close())
	digits := strings.Repeat("0", 64)
	broken := []string{digits + ".json", ".xfn-" + strings.Repeat("a", 26) + ".tmp"}
	for _, f := range append(broken, "mine.json") {
		e2e.NoError(t, os.WriteFile(filepath.Join(dir, "refs", f), []byte("{"), 0o600))
	}
	s = openStore(t, dir)
	if removed := prune(t, s, time.Time{}, false); removed.Blobs != 4 || len(removed.Refs) != 0 {
		t.Errorf("got %+v, want the blobs of the previous image of the tag", removed)
	}
	for _, f := range broken {
		e2e.ErrorIs(t, f+" exists", e2e.Err(os.Stat(filepath.Join(dir, "refs", f))), fs.ErrNotExist)
	}
	e2e.WantError(t, "a file that does not belong to the cache was removed", e2e.Err(os.Stat(filepath.Join(dir, "refs", "mine.json"))), "")
	r.Policy = image.Never
	e2e.Must(s.Image(t.Context(), r, quick()))(t)
}

// Prune keeps an image of an index if another image of the index is invalid.
func TestPruneInvalidSibling(t *testing.T) {
	t.Parallel()
	tag := parse(t, remotetest.Serve(t, remotetest.Handler()))
	img := imageFor(t, "linux/arm64")
	digest := digestOf(t, img)
	e2e.NoError(t, ggcr.Write(tag.Context().Digest(digest.String()), img))
	size := e2e.Must(img.Size())(t)
	bad := raw{`{"config": {}, "manifests": []}`, types.OCIManifestSchema1}
	e2e.NoError(t, ggcr.Put(tag.Context().Digest(bad.digest()), bad))
	e2e.NoError(t, ggcr.Put(tag, raw{fmt.Sprintf(`{"schemaVersion": 2, "manifests": [
		{"mediaType": %q, "digest": %q, "size": %d, "platform": {"os": "linux", "architecture": "amd64"}},
		{"mediaType": %q, "digest": %q, "size": %d, "platform": {"os": "linux", "architecture": "arm64"}}]}`,
		bad.mediaType, bad.digest(), len(bad.text), bad.mediaType, digest, size), types.OCIImageIndex}))
	dir := t.TempDir()
	s := e2e.Must(image.Open(dir))(t)
	e2e.Error(t, "an invalid image is not pulled", e2e.Err(s.Image(t.Context(), on(tag, "linux/amd64", t), quick())))
	e2e.Must(s.Image(t.Context(), on(tag, "linux/arm64", t), quick()))(t)
	e2e.NoError(t, s.Close())
	if removed := prune(t, openStore(t, dir), time.Time{}, false); removed.Blobs != 0 {
		t.Errorf("Prune removed %+v of an image in the cache", removed)
	}
}

// Concurrent processes pull the same image from xfn's own registry. Prune keeps the image
// while processes use it.
func TestProcesses(t *testing.T) {
	h := e2e.Open(registry.Open(t.TempDir()))(t)
	tag := parse(t, remotetest.Serve(t, h))
	img := imageFor(t, "linux/amd64")
	e2e.NoError(t, ggcr.Write(tag, img))
	dir := t.TempDir()
	var all []puller
	for range 4 {
		all = append(all, start(t, dir, tag))
	}
	for _, p := range all {
		p.says(t, "pulled")
	}
	s := openStore(t, dir)
	if removed := prune(t, s, time.Now().Add(time.Hour), false); removed.Blobs != 0 || len(removed.Refs) != 0 || removed.Leftovers != 0 {
		t.Errorf("four running processes lost %+v", removed)
	}
	same(t, e2e.Must(s.Image(t.Context(), on(tag, "linux/amd64", t), offline()))(t), img)
	e2e.NoError(t, s.Close())
	for _, p := range all {
		p.end(t)
	}
	if removed := prune(t, s, time.Now().Add(time.Hour), false); removed.Blobs != 4 || names(removed.Refs) != "gold/package:v1.0.0" {
		t.Errorf("after the processes ended, Prune removed %+v", removed)
	}
}

// A killed pull leaves no incomplete blob, and the next one resumes it.
func TestKilledPull(t *testing.T) {
	inner := remotetest.Handler()
	img := e2e.Must(random.Image(1<<16, 1))(t)
	img = withPlatform(t, img, "linux/amd64")
	layers := e2e.Must(img.Layers())(t)
	stalled := digestOf(t, layers[0])
	killed := make(chan struct{})
	layer := "^GET .*" + stalled.Hex
	requests := remotetest.Record(remotetest.Faults(inner, 1, layer, func(w http.ResponseWriter, r *http.Request) {
		data, err := layers[0].Compressed()
		if err != nil {
			panic(err)
		}
		_, _ = io.CopyN(w, data, 1000)
		_ = http.NewResponseController(w).Flush()
		<-killed
	}))
	tag := parse(t, remotetest.Serve(t, requests))
	e2e.NoError(t, ggcr.Write(tag, img))
	dir := t.TempDir()
	p := start(t, dir, tag)
	p.says(t, "moved")
	e2e.NoError(t, p.cmd.Process.Kill())
	_ = e2e.Await(t, p.cmd.Wait) // The process was killed, so Wait returns an error.
	close(killed)
	e2e.ErrorIs(t, "an incomplete layer is not stored", e2e.Err(os.Stat(blobFile(dir, stalled))), fs.ErrNotExist)
	s := openStore(t, dir)
	if _, err := s.Image(t.Context(), on(tag, "linux/amd64", t), offline()); !errors.As(err, new(*image.MissingError)) {
		t.Errorf("offline: got %v", err)
	}
	same(t, e2e.Must(s.Image(t.Context(), on(tag, "linux/amd64", t), quick()))(t), img)
	if got := requests.Ranges(layer); !strings.HasPrefix(got[len(got)-1], "bytes=") {
		t.Errorf("the layer was requested with ranges %q, want the missing bytes last", got)
	}
	e2e.NoError(t, s.Close())
	e2e.Equal(t, "the blobs of the image are kept", 0, prune(t, s, time.Time{}, false).Blobs)
	e2e.Equal(t, "the next pull leaves no incomplete blob", 0, e2e.Must(s.Info(t.Context()))(t).Leftovers)
}
