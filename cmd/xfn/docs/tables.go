package docs

import (
	_ "embed" // for the texts of pages
	"fmt"
	"slices"
	"strings"

	"github.com/xfn-dev/xfn/internal/builtin"
	"github.com/xfn-dev/xfn/internal/composition"
	"github.com/xfn-dev/xfn/internal/project"
	"github.com/xfn-dev/xfn/xpkg"
)

// The exit codes of the program.
const (
	Done   = 0
	Failed = 1
	Misuse = 2
	Fatal  = 3
)

func exitCodes() []entry {
	return []entry{
		{fmt.Sprint(Done), "The command succeeded."},
		{fmt.Sprint(Failed), "The command failed: a test case failed, a resource is not valid, a lint rule reported an error, a file or registry could not be read. `xfn diff --exit-code` returns it when something would change."},
		{fmt.Sprint(Misuse), "The command line is wrong: an unknown flag, a missing argument, or a value that is not allowed. A malformed reference, name or template ends with 1, as in the crossplane CLI."},
		{fmt.Sprint(Fatal), "A function returned a fatal result, so the pipeline ended."},
	}
}

// A Variable is an environment variable that xfn reads.
type Variable struct{ Name, Group, Meaning string }

const (
	ownVariables    = "xfn"
	registries      = "Registries and credentials"
	engines         = "Docker engines"
	passedVariables = "The machine"
)

// Environment returns the environment variables that xfn reads. A test compares
// it with the source.
func Environment() []Variable {
	return []Variable{
		{"XFN_CACHE_DIR", ownVariables, "The directory of the cache. The default is `xfn` in the user's cache directory."},
		{"XFN_LOCKED", ownVariables, "`true` is `--locked`: images are used by the digests in `xfn.lock` only."},
		{"XFN_REQUIRE_VERIFIED", ownVariables, "`true` is `--require-verified`: only builtins and verified packages run."},
		{"XFN_REGISTRY", ownVariables, "The registry of references that do not name one, as `--registry`."},
		{"CROSSPLANE_XPKG_CACHE", ownVariables, "The directory of the cache if `XFN_CACHE_DIR` is not set, as for the crossplane CLI."},
		{"CROSSPLANE_GIT_TOKEN", ownVariables, "The token for git repositories of `xfn dependency`, as `--git-token`."},
		{"CROSSPLANE_GIT_USERNAME", ownVariables, "The user name for the token, as `--git-username`."},
		{"REGISTRY", ownVariables, "The registry of image names without a registry, for `xfn alpha` only, as in Crossplane's `xfn`."},
		{"XFN_RUNTIME", ownVariables, "The runtime of every function, as `--runtime`."},
		{"XFN_CROSSPLANE", ownVariables, "The crossplane CLI, for commands that xfn passes on if it is called as `crossplane`. Default: the next `crossplane` on `PATH`."},
		{"XFN_PASSED_ON", ownVariables, "Set by xfn for that crossplane CLI. If it is set, xfn passes no command on, so that two programs of xfn do not call each other."},
		{"XFN_SHARDS", ownVariables, "The number of shards for `xfn test`, as `--shards`."},
		{"JOB_COMPLETION_INDEX", ownVariables, "With `XFN_SHARDS`, which shard to run, from 0. Kubernetes sets it in an Indexed Job."},
		{"SOURCE_DATE_EPOCH", ownVariables, "The times in a package that `xfn xpkg build` writes, in seconds since 1970."},
		{"COSIGN_PASSWORD", ownVariables, "The password of an encrypted key for `--sign-key`, and of a new key. It may be empty."},
		{"SIGSTORE_ROOT_FILE", ownVariables, "The file with the certificates of authorities, as `--ca-roots`."},
		{"SIGSTORE_REKOR_PUBLIC_KEY", ownVariables, "The file with the public key of the transparency log, as `--rekor-key`."},
		{"SIGSTORE_CT_LOG_PUBLIC_KEY_FILE", ownVariables, "The file with the public key of the certificate transparency log, as `--ct-key`."},
		{"SIGSTORE_ID_TOKEN", ownVariables, "The OIDC token for `--fulcio-url`. GitLab sets it for a job with `id_tokens`."},
		{"ACTIONS_ID_TOKEN_REQUEST_URL", ownVariables, "Where `--fulcio-url` gets an OIDC token in GitHub Actions."},
		{"ACTIONS_ID_TOKEN_REQUEST_TOKEN", ownVariables, "The credentials for that address."},
		{"TLS_SERVER_CERTS_DIR", ownVariables, "The folder of certificates for `xfn function serve`, as `--tls-certs-dir`."},
		{"FUNCTION_GO_TEMPLATING_DEFAULT_SOURCE", ownVariables, "`--default-source` of `xfn function serve go-templating`."},
		{"FUNCTION_GO_TEMPLATING_DEFAULT_OPTIONS", ownVariables, "`--default-options` of `xfn function serve go-templating`."},
		{"FUNCTION_GO_TEMPLATING_MAX_RECV_MESSAGE_SIZE", ownVariables, "`--max-message-size` of `xfn function serve go-templating`, in MiB."},
		{"FORCE_COLOR", ownVariables, "If it is not empty, xfn prints colors also without a terminal, unless NO_COLOR is set."},
		{"NO_COLOR", ownVariables, "If it is not empty, xfn prints no colors."},
		{"TERM", ownVariables, "If it is `dumb`, xfn prints no colors and no progress bars."},
		{"GITHUB_ACTIONS", ownVariables, "If it is `true`, problems and failed cases are also printed as annotations."},
		{"GITHUB_WORKSPACE", ownVariables, "Paths in annotations, in reports for code scanning and in summaries are relative to it."},
		{"CI_PROJECT_DIR", ownVariables, "As `GITHUB_WORKSPACE`, in GitLab CI."},
		{"CROSSPLANE_CONFIG", ownVariables, "The configuration of the crossplane CLI, in which xfn reads `features.generateGoModelAccessors`."},

		{"DOCKER_AUTH_CONFIG", registries, "The text of a Docker configuration with credentials."},
		{"REGISTRY_AUTH_FILE", registries, "The path of a file with credentials, as podman and skopeo use it."},
		{"DOCKER_CONFIG", registries, "The directory of Docker's `config.json`. The default is `~/.docker`."},
		{"XDG_RUNTIME_DIR", registries, "podman's `containers/auth.json` is here. Sockets of rootless engines are here, too."},
		{"XDG_CONFIG_HOME", registries, "podman's second `containers/auth.json` and the crossplane CLI's `crossplane/config.yaml` are here. The default is `~/.config`."},
		{"GITHUB_TOKEN", registries, "The token for `ghcr.io`, if no configuration has an entry for it."},
		{"GITHUB_ACTOR", registries, "The user of that token."},
		{"GOOGLE_APPLICATION_CREDENTIALS", registries, "Google Cloud's credentials, for registries of Google."},
		{"GCE_METADATA_HOST", registries, "Indicates that the machine has a metadata server of Google."},
		{"CLOUDSDK_CONFIG", registries, "The configuration directory of `gcloud`."},

		{"DOCKER_HOST", engines, "The engine: `unix://`, `tcp://`, `ssh://` or `npipe://`."},
		{"DOCKER_CONTEXT", engines, "The name of a Docker context, if `DOCKER_HOST` is not set."},
		{"DOCKER_API_VERSION", engines, "The version of the engine's API. By default it is negotiated."},
		{"DOCKER_CERT_PATH", engines, "A folder with `ca.pem`, `cert.pem` and `key.pem` for TLS."},
		{"DOCKER_TLS", engines, "If it is set, connections use TLS."},
		{"DOCKER_TLS_VERIFY", engines, "If it is set, connections use TLS and verify the engine's certificate."},

		{"HOME", passedVariables, "The user's home directory. On Windows it is `USERPROFILE`."},
		{"USERPROFILE", passedVariables, "The user's home directory on Windows."},
		{"APPDATA", passedVariables, "The directory of `gcloud` on Windows."},
		{"PATH", passedVariables, "The directories of credential helpers, `git`, `go` and `gcloud`. Functions that run as processes from source get it, too."},
		{"TZ", passedVariables, "Functions that run as processes from source get it."},
		{"LANG", passedVariables, "Functions that run as processes from source get it."},
		{"LC_ALL", passedVariables, "Functions that run as processes from source get it."},
		{"SSL_CERT_FILE", passedVariables, "A file of trusted CA certificates. Functions that run as processes from source get it, too."},
		{"SSL_CERT_DIR", passedVariables, "A directory of trusted CA certificates. Functions that run as processes from source get it, too."},
		{"TMPDIR", passedVariables, "The directory for temporary files."},
		{"HTTPS_PROXY", passedVariables, "The proxy for HTTPS. Its lower case form works, too."},
		{"HTTP_PROXY", passedVariables, "The proxy for plain HTTP."},
		{"NO_PROXY", passedVariables, "Hosts that are reached without a proxy."},
	}
}

// A Profile is a version of Crossplane that a render imitates.
type Profile struct {
	// Name is the value of --profile and of profile in suites. Example is a
	// version with this profile.
	Name, Versions, Example, Meaning string
}

// Profiles returns all profiles, the newest first.
func Profiles() []Profile {
	return []Profile{
		{"v2", "v2.3 and later", "v2.4", "The reconciler of today's Crossplane. It is the default."},
		{"classic", "v2.0 to v2.2", "v2.2", "The `crossplane render` of v2.2, which did not use the reconciler's code. Those of v2.0 and v2.1 differ: v2.0 sets no namespace on composed resources, and both take the prefix of names from the XR's name only."},
		{"v1.20", "v1.15 to v1.20", "v1.20", "The `crossplane beta render` of v1.20, in suites and by `--crossplane-version`. Earlier versions differ: v1.15 and v1.17 drop the conditions of functions and give them no credentials."},
		{"v1.14", "v1.14", "v1.14", "The first `crossplane beta render`, in suites and by `--crossplane-version`."},
		{"alpha", "v1.11 to v1.13", "v1.11", "The reconciler of these versions: `spec.resources`, then the containers of `spec.functions`, which read and write a FunctionIO. It has no functions file."},
	}
}

func exitCodesPage() string {
	b := page("Exit codes", "")
	tableOf(b, exitCodes(), func(e entry) []string { return []string{e.Term, e.Text} }, "code", "meaning")
	return b.String() + "`xfn diff --exit-code` returns 0 if nothing would change, 1 if something would, and more than 1 for an error, as `kubectl diff`.\n\n`xfn upgrade-check` returns 0 if nothing differs, 2 if something does, and 1 for any error, also for a wrong command line.\n"
}

func page(title, intro string) *strings.Builder {
	var b strings.Builder
	b.WriteString(generated + "# " + title + "\n\n" + intro)
	return &b
}

func environmentPage() string {
	b := page("Environment variables", "Flags override environment variables. A variable whose value is empty counts as not set.\n\n")
	for _, group := range []string{ownVariables, registries, engines, passedVariables} {
		fmt.Fprintf(b, "## %s\n\n", group)
		variables := slices.DeleteFunc(Environment(), func(v Variable) bool { return v.Group != group })
		tableOf(b, variables, func(v Variable) []string { return []string{"`" + v.Name + "`", v.Meaning} }, "variable", "meaning")
	}
	return b.String()
}

func profilesPage() string {
	b := page("Profiles", "A profile is the version of Crossplane that a render imitates. `--profile` chooses it by name, and `--crossplane-version` by version.\n\n")
	tableOf(b, Profiles(), func(p Profile) []string { return []string{"`" + p.Name + "`", p.Versions, p.Meaning} }, "profile", "Crossplane", "what it imitates")
	b.WriteString("[Fidelity](../explanation/fidelity.md) explains how each profile is tested.\n\n" + differences)
	var effective, accepted [][]string
	for _, f := range composition.AllFeatures() {
		row := []string{"`" + f.Name + "`", span(f.Since, f.Last), span(f.Since, f.Until)}
		if f.Effect != "" {
			effective = append(effective, append(row, f.Effect))
		} else {
			accepted = append(accepted, row)
		}
	}
	table(b, effective, "feature", "switch", "flag", "how it changes a render")
	b.WriteString("These are accepted with a warning, because they do not change what is composed:\n\n")
	table(b, accepted, "feature", "switch", "flag")
	return strings.TrimSuffix(b.String(), "\n")
}

func span(since, last composition.CrossplaneVersion) string {
	switch {
	case last == composition.NewestVersion:
		return since.String() + " and later"
	case last == since:
		return since.String()
	default:
		return since.String() + " to " + last.String()
	}
}

// differences is the part of the page of profiles about rules that depend on the version.
//
//go:embed profiles.txt
var differences string

func builtinsPage() string {
	b := page("Builtins", "These functions are part of xfn. They need no image and no download. [How a function runs](../explanation/how-a-function-runs.md) says when xfn uses them.\n\n")
	for _, f := range builtin.All() {
		fmt.Fprintf(b, "## %s\n\n", f.Name)
		rows := [][]string{{"versions", f.Versions()}, {"compared with", f.Measured}, {"input", "`" + f.GroupVersion().String() + " " + f.Kind + "`"}, {"covered", f.Covered}}
		if f.Differs != "" {
			rows = append(rows, []string{"differs", f.Differs})
		}
		for _, s := range f.Settings {
			rows = append(rows, []string{"`--builtin-option " + f.Option(s.Key) + "`", fmt.Sprintf("%s; since %s", s.Help, s.Since)})
		}
		table(b, rows, "", "")
	}
	return b.String()
}

// lintLevels is the beginning of the page of lint rules.
//
//go:embed lint-rules.txt
var lintLevels string

func lintRulesPage() string {
	b := page("Lint rules", lintLevels)
	for _, r := range xpkg.LintRules() {
		fmt.Fprintf(b, "## %s\n\nFinds %s.\n\nSeverity: %s\n\n%s\n\n", r.Name, r.Finds, r.Severity, r.Why)
	}
	b.WriteString("## Rules for projects\n\n`xfn project lint` and `xfn project build` check these rules, too. Their problems are warnings at every level, apart from function-source: a build fails with its error.\n\n")
	for _, r := range project.LintRules() {
		fmt.Fprintf(b, "### %s\n\nFinds %s.\n\n%s\n\n", r.Name, r.Finds, r.Why)
	}
	return b.String()
}
