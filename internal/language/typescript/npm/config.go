package npm

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
)

// publicRegistry is npm's default registry. If the configuration sets another default
// registry, npm fetches packages from that registry, although the lock file names
// publicRegistry ("replace-registry-host", npm documentation).
const publicRegistry = "https://registry.npmjs.org/"

// maxConfig limits the bytes of a configuration file.
const maxConfig = 1 << 20

// A Config has the settings of npm that xfn uses: registries and their credentials.
type Config struct {
	values map[string]string
}

// ReadConfig reads npm's settings from the environment, the .npmrc of a project, the .npmrc
// of the user, and the global file if the environment names it. The first source that sets
// a key has priority ("config", npm documentation).
func ReadConfig(project string, env []string) (*Config, error) {
	c := &Config{map[string]string{}}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		key, ok := cutPrefix(name, "npm_config_")
		if !strings.HasPrefix(key, "//") { // "//" begins the setting of a registry
			key = strings.ReplaceAll(strings.ToLower(key), "_", "-")
		}
		if ok && value != "" {
			c.set(key, value)
		}
	}
	user, global := c.values["userconfig"], c.values["globalconfig"]
	if home := cmp.Or(proc.Getenv(env, "HOME"), proc.Getenv(env, "USERPROFILE")); user == "" && home != "" {
		user = filepath.Join(home, ".npmrc")
	}
	for _, file := range []string{filepath.Join(project, ".npmrc"), user, global} {
		if file == "" {
			continue
		}
		if err := c.read(file, env); err != nil {
			return nil, fmt.Errorf("reading %q: %w", file, err)
		}
	}
	return c, nil
}

// cutPrefix is strings.CutPrefix, but ignores case.
func cutPrefix(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// set adds a setting, unless it exists.
func (c *Config) set(key, value string) {
	if _, ok := c.values[key]; !ok {
		c.values[key] = value
	}
}

func (c *Config) read(file string, env []string) error {
	data, err := fsx.ReadFile(file, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := parseLine(line, env); ok {
			c.set(key, value)
		}
	}
	return nil
}

// variable matches a reference to an environment variable. npm keeps the text of a
// reference to a variable that does not exist, unless the reference ends in "?".
var variable = proc.Regexp(`\$\{([^}?]+)(\??)\}`)

// parseLine parses a line of an .npmrc file. It returns false for comments and sections.
func parseLine(line string, env []string) (key, value string, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || strings.ContainsAny(line[:1], "#;[") {
		return "", "", false
	}
	key, value, ok = strings.Cut(line, "=")
	if !ok {
		return "", "", false
	}
	unquote := func(s string) string {
		s = strings.TrimSpace(s)
		if len(s) > 1 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
			s = s[1 : len(s)-1]
		}
		return variable().ReplaceAllStringFunc(s, func(ref string) string {
			parts := variable().FindStringSubmatch(ref)
			if v := proc.Getenv(env, parts[1]); v != "" || parts[2] == "?" {
				return v
			}
			return ref
		})
	}
	return unquote(key), unquote(value), true
}

// registry returns the URL of the registry that has the packages of a scope, such as
// "@types", with a slash at its end.
func (c *Config) registry(name string) string {
	scope, _, scoped := strings.Cut(name, "/")
	if at := c.values[scope+":registry"]; scoped && at != "" {
		return strings.TrimSuffix(at, "/") + "/"
	}
	if at := c.values["registry"]; at != "" {
		return strings.TrimSuffix(at, "/") + "/"
	}
	return publicRegistry
}

func (c *Config) tarball(p *Package) (*url.URL, error) {
	at := p.Resolved
	if at == "" {
		// npm leaves the URL out with omit-lockfile-registry-resolved. It then uses the path
		// that the registry of npm has.
		at = c.registry(p.Name) + p.Name + "/-/" + path.Base(p.Name) + "-" + p.Version + ".tgz"
	} else if rest, ok := strings.CutPrefix(at, publicRegistry); ok && c.values["replace-registry-host"] != "never" {
		at = c.registry(p.Name) + rest
	}
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("expected the URL of a tarball, got %q", redacted(at))
	}
	return u, nil
}

// redacted returns a URL without the user name and password in it.
func redacted(text string) string {
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		if i := strings.LastIndex(strings.SplitN(rest, "/", 2)[0], "@"); i >= 0 {
			return scheme + "://" + rest[i+1:]
		}
	}
	return text
}

// authorization returns the value of the header Authorization for a URL, or "". Credentials
// are for a host and all paths below a folder.
func (c *Config) authorization(u *url.URL) string {
	for dir := path.Dir(u.Path); ; dir = path.Dir(dir) {
		prefix := "//" + u.Host + strings.TrimSuffix(dir, "/") + "/:"
		if token := c.values[prefix+"_authToken"]; token != "" {
			return "Bearer " + token
		}
		if basic := c.values[prefix+"_auth"]; basic != "" {
			return "Basic " + basic
		}
		user, password := c.values[prefix+"username"], c.values[prefix+"_password"]
		if plain, err := base64.StdEncoding.DecodeString(password); err == nil && user != "" && password != "" {
			return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+string(plain)))
		}
		if dir == "/" || dir == "." {
			return ""
		}
	}
}
