package generate

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/image"
	"github.com/xfn-dev/xfn/internal/image/lock"
	"github.com/xfn-dev/xfn/internal/manifest"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/internal/project/models"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/internal/remote/clone"
	"github.com/xfn-dev/xfn/xpkg"
)

const (
	// maxPackages limits the packages of one dependency, because dependencies are untrusted.
	maxPackages = 200
	// maxBytes limits a file or a git repository.
	maxBytes = 100 << 20
)

// A Fetcher reads dependencies.
type Fetcher struct {
	// Store is the cache of packages.
	Store *image.Store
	// Images are the options of the Store. Images.Remote is required.
	Images image.Options
	// Registry is the registry of references that do not name one.
	Registry string
	// Lock has the versions and digests of packages. If it is nil, versions are resolved.
	Lock *lock.Lock
	// HTTP fetches files. It is required.
	HTTP *http.Client
	// GitUser and GitToken are the credentials of git repositories at https URLs.
	GitUser, GitToken string
	// Kubernetes is the URL of the folder that has a folder for each tag of Kubernetes.
	Kubernetes string
}

// KubernetesURL is the default of Fetcher.Kubernetes.
const KubernetesURL = "https://raw.githubusercontent.com/kubernetes/kubernetes"

// sources returns the sources of a dependency, and sets the API version and the kind of a package.
func (f *Fetcher) sources(ctx context.Context, p *project.Project, d *project.Dependency) ([]models.Source, error) {
	if f.Images.Progress != nil {
		f.Images.Progress.Step("reading dependency " + nameOf(*d))
	}
	switch {
	case d.XPkg != nil:
		return f.packages(ctx, p, d.XPkg)
	case f.Images.Offline:
		return nil, errOffline
	case d.K8s != nil:
		return []models.Source{{ID: sourceID(*d), Version: d.K8s.Version, Definitions: func(ctx context.Context) (models.Definitions, error) {
			files, _, err := f.files(ctx, locked(*d), "")
			if err != nil {
				return nil, err
			}
			return defineOpenAPI(files)
		}}}, nil
	}
	files, digest, err := f.filesOf(ctx, *d)
	if err != nil {
		return nil, err
	}
	return []models.Source{{ID: sourceID(*d), Version: strings.TrimPrefix(digest, digestPrefix), Definitions: func(context.Context) (models.Definitions, error) {
		return define(files)
	}}}, nil
}

// Documents returns the documents of the CRDs in a git repository or at a URL. For any other
// dependency, it returns no documents.
func (f *Fetcher) Documents(ctx context.Context, d project.Dependency) ([]manifest.Document, error) {
	files, _, err := f.filesOf(ctx, d)
	if err != nil {
		return nil, fmt.Errorf("reading the dependency %q: %w", nameOf(d), err)
	}
	return documents(files)
}

// checkDefinitions returns an error if the sources of a dependency define no kinds.
func (f *Fetcher) checkDefinitions(ctx context.Context, d project.Dependency, sources []models.Source) error {
	if err := readDefinitions(ctx, sources); err != nil {
		return err
	}
	for _, s := range sources {
		if all, _ := s.Definitions(ctx); len(all) > 0 {
			return nil
		}
	}
	docs, err := f.Documents(ctx, d)
	if err != nil {
		return err
	}
	err = errors.New("it has no CRD or XRD")
	if len(docs) > 0 {
		got := "a document without a kind"
		if obj, _ := docs[0].Object(); obj["kind"] != nil {
			got = fmt.Sprintf("kind %v", obj["kind"])
		}
		err = &manifest.Error{Path: docs[0].Path, Line: docs[0].FirstLine(), Err: fmt.Errorf("expected a CRD or XRD, got %s", got)}
	}
	if d.Git != nil {
		err = hint.Wrap(err, "name the directory of the CRDs with "+hint.GitPath)
	}
	return err
}

// filesOf returns files for a git repository or a file at a URL, and no files for other dependencies.
func (f *Fetcher) filesOf(ctx context.Context, d project.Dependency) ([]yamlFile, string, error) {
	switch {
	case d.Git != nil:
		return f.files(ctx, locked(d), d.Git.Path)
	case d.HTTP != nil:
		return f.files(ctx, locked(d), "")
	}
	return nil, "", nil
}

// files returns the YAML files of a dependency that is not a package, and what a lock file has for it:
// the commit of a git repository, or the digest of the content. dir is a folder of a git repository.
func (f *Fetcher) files(ctx context.Context, d lock.Dependency, dir string) (files []yamlFile, digest string, err error) {
	if repository, ok := strings.CutPrefix(d.Package, lock.GitPrefix); ok {
		from := project.GitSource{Repository: repository, Ref: d.Version, Path: dir}
		if f.Lock != nil {
			if from.Ref, err = f.Lock.APIDigest(d); err != nil {
				return nil, "", err
			}
		}
		return f.git(ctx, from)
	}
	urls := []string{d.Package}
	if version, ok := strings.CutPrefix(d.Package, lock.KubernetesPrefix); ok {
		if err := project.CheckRelease("k8s:", version); err != nil {
			return nil, "", err
		}
		urls = nil
		for _, file := range kubernetesFiles {
			urls = append(urls, fmt.Sprintf("%s/v%s/api/openapi-spec/v3/%s_openapi.json", f.Kubernetes, strings.TrimPrefix(version, "v"), file))
		}
	}
	sum := sha256.New()
	for _, at := range urls {
		data, err := f.get(ctx, at)
		if err != nil {
			return nil, "", err
		}
		sum.Write(data)
		files = append(files, yamlFile{at, data})
	}
	digest = fmt.Sprintf("%s%x", digestPrefix, sum.Sum(nil))
	if f.Lock != nil {
		err = f.Lock.CheckAPI(d, digest)
	}
	return files, digest, err
}

// packages returns the sources of a package and of the packages that it depends on. A new dependency,
// which has no kind, gets the installed kind of its package.
func (f *Fetcher) packages(ctx context.Context, p *project.Project, root *project.Package) ([]models.Source, error) {
	var all []models.Source
	by := map[lock.Dependency]string{} // The values are the packages that depend on the keys.
	queue := []lock.Dependency{{Package: root.Package, Version: root.Version}}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if len(all) >= maxPackages {
			return nil, fmt.Errorf("%q has more than %d dependencies", root.Package, maxPackages)
		}
		source, meta, err := f.pkg(ctx, p, next)
		if err != nil && by[next] != "" {
			err = fmt.Errorf("reading %q, on which %q depends: %w", next.Package, by[next], err)
		}
		if err != nil {
			return nil, err
		}
		if len(all) == 0 && root.Kind == "" {
			apiVersion, _ := meta["apiVersion"].(string)
			kind, _ := meta["kind"].(string)
			root.APIVersion, root.Kind = strings.TrimPrefix(apiVersion, "meta."), kind
		}
		all = append(all, source)
		for _, d := range dependencies(meta) {
			if by[d] == "" {
				by[d] = next.Package
				queue = append(queue, d)
			}
		}
	}
	return all, nil
}

func (f *Fetcher) pkg(ctx context.Context, p *project.Project, d lock.Dependency) (models.Source, map[string]any, error) {
	images := f.Images
	images.Rewrite, images.Pin = p.Rewritten, nil
	if f.Lock != nil {
		images.Pin = f.Lock.Pin
	}
	ref, err := f.resolve(ctx, d, images)
	if err != nil {
		return models.Source{}, nil, err
	}
	resolved, err := f.Store.Resolve(ctx, ref, images)
	if err != nil {
		return models.Source{}, nil, err
	}
	crds, meta, err := f.read(ctx, ref, images)
	if err != nil {
		return models.Source{}, nil, err
	}
	source := models.Source{ID: "xpkg://" + d.Package + separator(ref.Identifier()) + ref.Identifier(), Version: resolved.Digest.String()}
	source.Definitions = func(context.Context) (models.Definitions, error) { return models.Define(crds) }
	return source, meta, nil
}

// resolve returns the reference of a package. If there is a Lock, it returns the locked reference.
func (f *Fetcher) resolve(ctx context.Context, d lock.Dependency, images image.Options) (name.Reference, error) {
	if f.Lock != nil {
		ref, err := f.Lock.Reference(d, f.parse)
		if err != nil {
			return nil, err
		}
		return f.parse(ref)
	}
	if _, err := semver.NewConstraint(d.Version); err != nil && !lock.IsDigest(d.Version) {
		if ref, err := f.parse(d.Package + ":" + d.Version); err == nil { // The crossplane CLI accepts any tag.
			return ref, nil
		}
	}
	var tags lock.Tags = image.Tags{Remote: images.Remote, Rewrite: images.Rewrite}
	if images.Offline {
		tags = image.CachedTags{Store: f.Store}
	}
	return d.Resolve(ctx, tags, f.parse)
}

func (f *Fetcher) parse(s string) (name.Reference, error) {
	return remote.ParseReference(s, f.Registry)
}

// Dependencies returns the dependencies of the package at ref.
func (f *Fetcher) Dependencies(ctx context.Context, ref name.Reference) ([]lock.Dependency, error) {
	_, meta, err := f.read(ctx, ref, f.Images)
	return dependencies(meta), err
}

func dependencies(meta map[string]any) []lock.Dependency {
	var all []lock.Dependency
	for _, d := range lock.ReadDependsOn(meta) {
		if d.Package != "" {
			all = append(all, lock.Dependency{Package: d.Package, Version: d.Version})
		}
	}
	return all
}

func (f *Fetcher) read(ctx context.Context, ref name.Reference, images image.Options) (crds []map[string]any, meta map[string]any, err error) {
	img, err := f.image(ctx, ref, images)
	if err != nil {
		return nil, nil, err
	}
	var objects []map[string]any
	text, err := xpkg.PackageYAML(ctx, img)
	if err == nil {
		objects, err = manifest.Objects("package.yaml", text)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading package %q: %w", ref, err)
	}
	for _, obj := range objects {
		apiVersion, _ := obj["apiVersion"].(string)
		switch {
		case obj["kind"] == "CustomResourceDefinition":
			crds = append(crds, obj)
		case strings.HasPrefix(apiVersion, "meta.pkg."):
			meta = obj
		}
	}
	if meta == nil {
		return nil, nil, fmt.Errorf("reading package %q: it has no metadata", ref)
	}
	return crds, meta, nil
}

// image returns an image of a package, and records its tag in the cache for offline use. Images
// for any platform have the same content.
func (f *Fetcher) image(ctx context.Context, ref name.Reference, images image.Options) (v1.Image, error) {
	img, err := f.Store.Image(ctx, image.Request{Reference: ref, Policy: image.Always}, images)
	var other *image.PlatformError
	if errors.As(err, &other) && len(other.Available) > 0 {
		return f.Store.Image(ctx, image.Request{Reference: ref, Platform: other.Available[0], Policy: image.Always}, images)
	}
	return img, err
}

func (f *Fetcher) get(ctx context.Context, from string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", from, err)
	}
	rsp, err := f.HTTP.Do(req)
	if offline := new(net.OpError); errors.As(err, &offline) {
		return nil, hint.Wrap(fmt.Errorf("reading %q: the server cannot be reached: %w", from, offline.Err), "check the network and the proxy (HTTPS_PROXY)")
	}
	if untrusted := new(tls.CertificateVerificationError); errors.As(err, &untrusted) {
		return nil, hint.Wrap(fmt.Errorf("reading %q: the certificate of the server cannot be trusted: %w", from, untrusted.Err), "give the file of its CA with "+hint.CAFile)
	}
	if silent := new(url.Error); errors.As(err, &silent) && silent.Timeout() {
		return nil, hint.Wrap(fmt.Errorf("reading %q: the server does not answer: %w", from, silent.Err), "check the URL, and that the server runs")
	}
	if err != nil {
		return nil, err
	}
	defer rsp.Body.Close()
	if rsp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading %q: the server answered %s", from, rsp.Status)
	}
	data, err := fsx.ReadAll(rsp.Body, maxBytes)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", from, err)
	}
	return data, nil
}

func (f *Fetcher) git(ctx context.Context, from project.GitSource) (files []yamlFile, commit string, err error) {
	snap, err := clone.Commit(ctx, clone.Options{URL: f.authenticated(from.Repository), Ref: gitRef(from.Ref), MaxBytes: maxBytes, Progress: f.Images.Progress})
	if host, _, _ := strings.Cut(from.Repository, "/"); errors.As(err, new(*clone.NoRepositoryError)) && strings.Index(host, ".") > 0 {
		err = hint.Wrap(err, hint.Meant("https://", from.Repository))
	}
	if err != nil {
		return nil, "", err
	}
	dir := strings.TrimLeft(path.Clean("/"+from.Path)+"/", "/")
	exists := dir == ""
	err = snap.Files(ctx, maxBytes, func(name string) bool {
		inside := strings.HasPrefix(name, dir)
		exists = exists || inside
		return inside && manifest.IsYAML(name)
	}, func(name string, data []byte) error {
		files = append(files, yamlFile{strings.TrimPrefix(name, dir), data})
		return nil
	})
	if err == nil && !exists {
		err = fmt.Errorf("the commit %s has no directory %q", snap.Commit, strings.TrimSuffix(dir, "/"))
	}
	return files, snap.Commit, err
}

// gitRef returns the full name of a git reference: of the branch main if ref is empty, of
// a tag if ref is a version, and otherwise of a branch. It returns a commit unchanged.
func gitRef(ref string) string {
	_, err := semver.NewVersion(ref)
	switch {
	case ref == "":
		return "refs/heads/main"
	case strings.HasPrefix(ref, "refs/"), len(ref) == 40 && strings.Trim(ref, "0123456789abcdef") == "":
		return ref
	case err == nil:
		return "refs/tags/" + ref
	}
	return "refs/heads/" + ref
}

func (f *Fetcher) authenticated(repository string) string {
	u, err := url.Parse(repository)
	if err != nil || f.GitToken == "" || u.Scheme != "https" || u.User != nil {
		return repository // Package clone explains what it cannot read.
	}
	u.User = url.UserPassword(f.GitUser, f.GitToken)
	return u.String()
}
