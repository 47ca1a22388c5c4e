package python

import (
	"strings"
	"sync"
)

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
