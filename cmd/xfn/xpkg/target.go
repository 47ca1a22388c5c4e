package xpkg

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"

	"github.com/xfn-dev/xfn/cmd/xfn/flags"
	"github.com/xfn-dev/xfn/cmd/xfn/terminal"
	"github.com/xfn-dev/xfn/internal/progress"
	"github.com/xfn-dev/xfn/internal/remote"
	"github.com/xfn-dev/xfn/push"
)

type targetFlags struct {
	Tag       []string `sep:"none" placeholder:"TAG" help:"Additional tag in the repository, as in --tag=latest. Repeatable."`
	MountFrom []string `more:"" sep:"none" placeholder:"REPOSITORY" help:"Repository of the same registry to mount layers of the package from, which are then not sent. Repeatable."`
	DryRun    bool     `help:"Print how many bytes would be sent, and change nothing."`

	flags.Patience
	terminal.Format
	registryFlags
}

// options returns the options of a push to ref. Equal tags count once. A repository of --mount-from
// must be in the registry of ref.
func (f *targetFlags) options(term *terminal.Terminal, p terminal.Program, ref name.Tag) (opts push.Options, err error) {
	for _, t := range f.Tag {
		if err := remote.CheckTag(t); err != nil {
			return opts, &terminal.UsageError{Err: fmt.Errorf("--tag: %w", err)}
		}
		tag := ref.Context().Tag(t)
		if !slices.ContainsFunc(append(opts.Tags, ref), func(other name.Tag) bool { return other.Name() == tag.Name() }) {
			opts.Tags = append(opts.Tags, tag)
		}
	}
	for _, from := range f.MountFrom {
		repo, err := name.NewRepository(strings.TrimPrefix(from, ref.RegistryStr()+"/"), name.WithDefaultRegistry(ref.RegistryStr()))
		if err != nil || repo.RegistryStr() != ref.RegistryStr() || !remote.IsRepository(repo.RepositoryStr()) {
			return opts, &terminal.UsageError{Err: fmt.Errorf("reading --mount-from %q: expected a repository of %s", from, ref.RegistryStr())}
		}
		opts.MountFrom = append(opts.MountFrom, repo)
	}
	opts.Transport, opts.DryRun, opts.Progress = f.PatientClient(p, f.Patience), f.DryRun, progress.Func(term.Progress).Plain()
	opts.Services = f.Services().PatientClient(p, f.Patience)
	return opts, nil
}

// pushVersion is the hint of WarnTags for commands whose --tag adds a tag.
const pushVersion = "push a version, too, as in --tag v0.1.0"

// WarnTags warns if no tag is a version, because Crossplane then installs the package only by its
// tag, and never as a dependency. next says how to push a version.
func WarnTags(term *terminal.Terminal, next string, tags ...name.Tag) {
	isVersion := func(t name.Tag) bool {
		_, err := semver.NewVersion(t.TagStr())
		return err == nil
	}
	if !slices.ContainsFunc(tags, isVersion) {
		term.Warn(fmt.Sprintf("the tag %q is not a version: Crossplane does not find it for the dependencies of other packages\nhint: %s", tags[len(tags)-1].TagStr(), next))
	}
}

// pushed is the output of xfn xpkg push and copy with --format json.
type pushed struct {
	References []string `json:"references"`
	Digest     string   `json:"digest"`
	MediaType  string   `json:"mediaType"`
	Platforms  []string `json:"platforms,omitempty"`
	// Attached are the references of the attachments of a copied package.
	Attached  []string `json:"attached,omitempty"`
	DryRun    bool     `json:"dryRun,omitempty"`
	Signature *signed  `json:"signature,omitempty"`
	push.Traffic
	Seconds float64 `json:"seconds"`
}

// signed has the reference of the signatures. Added is true if a signature by
// the given key was added, and Attestations is how many attestations were.
type signed struct {
	Reference    string `json:"reference"`
	Added        bool   `json:"added"`
	Attestations int    `json:"attestations,omitempty"`
}

// print prints the references with the digest to stdout, and the sizes of transfers as a note.
func (f *targetFlags) print(term *terminal.Terminal, r push.CopyResult, took time.Duration) error {
	value := pushed{
		References: r.References, Digest: r.Digest.String(), MediaType: string(r.MediaType), Platforms: r.Platforms,
		Attached: r.Attached, DryRun: f.DryRun,
		Traffic: r.Traffic, Seconds: took.Seconds(),
	}
	if r.Signature != "" {
		value.Signature = &signed{r.Signature, r.Signed, r.Attested}
	}
	with := ""
	if n := len(r.Attached); n > 0 {
		with = fmt.Sprintf(", with %s to it", terminal.Count(n, "attachment"))
	}
	if r.Attested > 0 && !f.DryRun {
		with += "; " + attached(r.Result)
	}
	var text strings.Builder
	sent, mounted, skipped := terminal.Size(r.Sent), terminal.Size(r.Mounted), terminal.Size(r.Skipped)
	if !f.DryRun {
		term.Note(fmt.Sprintf("sent %s, mounted %s, skipped %s%s", sent, mounted, skipped, with))
		for _, ref := range r.References {
			fmt.Fprintf(&text, "%s@%s\n", ref, r.Digest)
		}
	} else {
		fmt.Fprintf(&text, "would send %s, mount %s, skip %s%s\n", sent, mounted, skipped, with)
		text.WriteString(wouldSign(r.Result))
	}
	return f.Print(term, value, text.String())
}

// attached says how many attestations were added.
func attached(r push.Result) string { return "attached " + terminal.Count(r.Attested, "attestation") }

// wouldSign returns the lines of a dry run about the signature and the attestations, if there
// are any.
func wouldSign(r push.Result) (text string) {
	switch {
	case r.Signature == "":
		return ""
	case r.Signed:
		text = fmt.Sprintf("would sign %s at %s\n", r.Digest, r.Signature)
	default:
		text = fmt.Sprintf("would not sign %s again: the key's signature is at %s\n", r.Digest, r.Signature)
	}
	if r.Attested > 0 {
		text += fmt.Sprintf("would attach %s to %s\n", terminal.Count(r.Attested, "attestation"), r.Digest)
	}
	return text
}

// pinned returns a reference with a digest, which is the digest of the manifest at the reference.
func pinned(ref name.Reference, digest string) string {
	if _, ok := ref.(name.Tag); ok {
		return ref.Name() + "@" + digest
	}
	return ref.Name()
}
