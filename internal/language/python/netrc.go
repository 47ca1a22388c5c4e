package python

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/xfn-dev/xfn/internal/fsx"
	"github.com/xfn-dev/xfn/internal/proc"
)

type netrc map[string]*url.Userinfo

// readNetrc reads the file that the variable NETRC names, or .netrc in HOME.
func readNetrc(env []string) (netrc, error) {
	file := proc.Getenv(env, "NETRC")
	if home := proc.Getenv(env, "HOME"); file == "" && home != "" {
		file = filepath.Join(home, ".netrc")
	}
	if file == "" {
		return nil, nil
	}
	data, err := fsx.ReadFile(file, maxText)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", file, err)
	}
	return parseNetrc(string(data)), nil
}

// parseNetrc returns the entries of hosts. It ignores macros and the entry default.
func parseNetrc(text string) netrc {
	all, host, login := netrc{}, "", ""
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i++ {
		word, next := words[i], words[i+1]
		switch word {
		case "machine":
			host, login = next, ""
		case "default":
			host = ""
			continue
		case "login":
			login = next
		case "password":
			if _, ok := all[host]; host != "" && !ok {
				all[host] = url.UserPassword(login, next)
			}
		default:
			continue
		}
		i++
	}
	return all
}
