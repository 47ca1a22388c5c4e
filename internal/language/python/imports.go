package python

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/xfn-dev/xfn/internal/hint"
	"github.com/xfn-dev/xfn/internal/proc"
)

var (
	importing = proc.Regexp(`^(?:from\s*(\.*)\s*([\w.]*)\s*)?import\b[\s(]*([^;)[:^ascii:]]*)(?:[;)]|$)`)
	comments  = proc.Regexp(`#[^\n]*|\\\n`)
)

// finders are parts of source that may change where Python finds modules, or when it imports them.
var finders = []string{"__lazy_modules__", "sys.path", "sys.modules", "from sys import", "path.append", "path.extend", "path.insert", "meta_path", "path_hooks", "addsitedir", "__path__"}

type statement struct {
	text string
	at   int
}

// An imported is a module that a statement imports, as "a.b" or, relative to a package, "..a". names may
// be modules in it.
type imported struct {
	module string
	names  []string
}

func (s statement) modules() []imported {
	m := importing().FindStringSubmatch(comments().ReplaceAllString(s.text, " "))
	if m == nil {
		return nil
	}
	from := imported{module: m[1] + m[2]}
	var all []imported
	for part := range strings.SplitSeq(m[3], ",") {
		words := strings.Fields(part)
		switch {
		case len(words) == 0:
		case from.module == "":
			all = append(all, imported{module: words[0]})
		default:
			from.names = append(from.names, words[0])
		}
	}
	if from.module != "" {
		all = append(all, from)
	}
	return all
}

// An importer finds the modules that the program of a function imports whenever it starts, and that are
// not in the image. It follows only statements outside of blocks, because others may never run.
type importer struct {
	dir, owner string // the folder of the project, and its name in files
	site       string
	files      map[string]owned
	// known are the names of the modules and packages in the image, besides the standard library.
	known map[string]bool
	// queue are the files to read, each of them once.
	queue []string
	seen  map[string]bool
}

// reportMissing warns, once for all platforms, of modules that are neither in the image with these files
// nor in its base.
func (b *builder) reportMissing(files *FileSet, site string, base base, env []string) error {
	m := scriptReference().FindStringSubmatch(strings.TrimSpace(b.project.scripts[b.project.entry()]))
	if m == nil || proc.Getenv(env, "PYTHONPATH") != "" || proc.Getenv(env, "PYTHONHOME") != "" {
		return nil
	}
	i := importer{dir: b.src.Dir, owner: b.project.name, site: site + "/", files: files.files, known: map[string]bool{}, seen: map[string]bool{}}
	if !i.addKnown(base) {
		return nil
	}
	i.follow(strings.ReplaceAll(m[1], ".", "/"))
	missing, err := i.missing()
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range missing {
		if !b.warned[text] {
			b.warned[text] = true
			b.opts.Progress.Warn(text)
		}
	}
	return nil
}

// addKnown adds the names of everything in the base image that Python finds in the folder of packages
// or beside the program in bin. A folder or a file of any kind may be a module. addKnown returns false
// if a file there may change where Python finds modules.
func (i *importer) addKnown(base base) bool {
	maps.Copy(i.known, base.Modules)
	for file := range i.files {
		name, ok := strings.CutPrefix(file, i.site)
		if !ok {
			continue
		}
		known := name == "distutils-precedence.pth" || strings.HasSuffix(name, "-nspkg.pth") // of setuptools
		if !strings.Contains(name, "/") && !known && (path.Ext(name) == ".pth" || path.Ext(name) == ".start") {
			return false
		}
		i.known[topOf(strings.TrimPrefix(name, "bin/"))] = true
	}
	return !i.known["sitecustomize"]
}

// topOf returns the name of the module or package that a path in a folder of modules belongs to.
func topOf(name string) string {
	if end := strings.IndexAny(name, "./"); end >= 0 {
		return name[:end]
	}
	return name
}

// follow adds the files of a module of the project, and of the packages that it is in, to the queue.
func (i *importer) follow(module string) {
	for end := range len(module) + 1 {
		if end < len(module) && module[end] != '/' {
			continue
		}
		for _, ending := range []string{"/__init__.py", ".py"} {
			file := i.site + module[:end] + ending
			if f, ok := i.files[file]; ok && f.Source != "" && f.owner == i.owner {
				if !i.seen[file] {
					i.seen[file] = true
					i.queue = append(i.queue, file)
				}
				break
			}
		}
	}
}

// missing returns a warning for each module that is not in the image, in the order of the imports.
func (i *importer) missing() ([]string, error) {
	var all []string
	for len(i.queue) > 0 {
		file := i.files[i.queue[0]]
		i.queue = i.queue[1:]
		text, err := file.read()
		if err != nil {
			return nil, fmt.Errorf("reading %q: %w", file.Source, err)
		}
		if slices.ContainsFunc(finders, func(part string) bool { return strings.Contains(text, part) }) {
			return nil, nil
		}
		l := lex(text)
		for _, s := range l.imports {
			for _, m := range s.modules() {
				if top := i.resolve(m, file.Path); top != "" {
					i.known[top] = true // One warning is enough.
					at := fmt.Sprintf("%s:%d", filepath.ToSlash(filepath.Join(i.dir, file.Source)), 1+strings.Count(l.source[:s.at], "\n"))
					all = append(all, fmt.Sprintf("%s: module %q is in no package that the lock file installs, nor in the source or the base image; %s", at, top, addPackage(top)))
				}
			}
		}
	}
	return all, nil
}

// resolve follows a module that a file imports. It returns the name of its package if that is missing.
func (i *importer) resolve(m imported, file string) (missing string) {
	name := strings.TrimLeft(m.module, ".")
	at := strings.ReplaceAll(name, ".", "/")
	if dots := len(m.module) - len(name); dots > 0 {
		above := file
		for range dots {
			above = path.Dir(above)
		}
		inside, ok := strings.CutPrefix(above+"/", i.site)
		if !ok {
			return ""
		}
		at = path.Join(inside, at)
	} else if top := topOf(at); top != "" && !i.known[top] && !isStandard(top) {
		return top
	}
	i.follow(at)
	for _, n := range m.names {
		i.follow(path.Join(at, n))
	}
	return ""
}

func addPackage(module string) string {
	return "add the package of " + module + " to dependencies in " + projectFile + ", and lock again"
}

var notFound = proc.Regexp(`ModuleNotFoundError: No module named '([A-Za-z_][\w.]*)'`)

// HintMissing adds a hint to an error with the output of a function that ended because a module is not
// installed. dir is the folder of the function.
func HintMissing(err error, dir string) error {
	if err == nil {
		return nil
	}
	m := notFound().FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	if _, own := os.Stat(filepath.Join(dir, topOf(m[1]))); own == nil {
		return err
	}
	return hint.Wrap(err, addPackage(m[1]))
}

// isStandard reports whether a module may be in the standard library of a version from 3.8 to 3.15, on any
// system. Names that begin with an underscore are modules of the interpreter.
func isStandard(name string) bool { return name[0] == '_' || standard()[name] }

// standard has the other names of sys.stdlib_module_names in all these versions, and of modules for tests.
var standard = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for name := range strings.FieldsSeq(`
		abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop
		base64 bdb binascii binhex bisect builtins bz2 calendar cgi cgitb chunk cmath cmd code codecs codeop
		collections colorsys compileall compression concurrent configparser contextlib contextvars copy
		copyreg cProfile crypt csv ctypes curses dataclasses datetime dbm decimal difflib dis distutils
		doctest dummy_threading email encodings ensurepip enum errno faulthandler fcntl filecmp fileinput
		fnmatch formatter fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp
		gzip hashlib heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress
		itertools json keyword lib2to3 linecache locale logging lzma macpath mailbox mailcap marshal math
		mimetypes mmap modulefinder msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path
		numbers opcode operator optparse os ossaudiodev parser pathlib pdb pickle pickletools pipes pkgutil
		platform plistlib poplib posix posixpath pprint profile profiling pstats pty pwd py_compile pyclbr
		pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched
		secrets select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver
		spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct
		subprocess sunau symbol symtable sys sysconfig syslog tabnanny tarfile telnetlib tempfile termios test
		textwrap this threading time timeit tkinter token tokenize tomllib trace traceback tracemalloc tty
		turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings wave weakref
		webbrowser winreg winsound wsgiref xdrlib xml xmlrpc xxlimited xxsubtype zipapp zipfile zipimport zlib zoneinfo
	`) {
		all[name] = true
	}
	return all
})
