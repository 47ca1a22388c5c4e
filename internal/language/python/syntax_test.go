package python_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
	"github.com/xfn-dev/xfn/internal/language/python"
)

// TestCheckSyntax has what CPython 3.13 reports for the same source, mostly in the same words.
func TestCheckSyntax(t *testing.T) {
	for _, tc := range []struct{ reason, source, want string }{
		{"a statement with a block has a colon", "x = 1\ndef f(a: int) -> dict[str:int]\n    return a\n", "2: expected ':'"},
		{"a lambda has a colon of its own", "if lambda: 1\n    pass\n", "1: expected ':'"},
		{"a lambda in brackets has its colon there", "f(lambda x)\n", "1: expected ':'"},
		{"a coroutine has a colon", "async def f()\n    pass\n", "1: expected ':'"},
		{"a line that goes on may lack its colon at the end", "while a \\\n   and b\n  pass\n", "2: expected ':'"},
		{"a bracket in a field of an f-string is closed", "f'{a(b}'\n", "1: closing parenthesis '}' does not match opening parenthesis '(' on line 1"},
		{"a bracket is closed by its own kind", "a = [\n  (1, 2]\n", "2: closing parenthesis ']' does not match opening parenthesis '(' on line 2"},
		{"a closing parenthesis needs an opening one", "a = 1)\n", "1: unmatched ')'"},
		{"an unclosed bracket is reported, and not the statement after it", "a = f(1\nb = 2\ndef g():\n    pass\n", "1: '(' was never closed"},
		{"a string ends in its line", "a = 'it\\'s\nb = 2\n", "1: unterminated string literal"},
		{"a string with three quotes ends in the file", "a = 1\nb = r'''x\\'''\n''\n", "2: unterminated triple-quoted string literal"},
		{"a field of an f-string ends before the string", "a = f'{b:>{c}'\n", "1: unterminated f-string literal"},
		{"a bracket of an f-string is doubled", "a = f'}'\n", "1: f-string: single '}' is not allowed"},
		{"a block is indented", "def f():\n# none\nx = 1\n", "3: expected an indented block after function definition on line 1"},
		{"the file ends after the block", "class A:\n    if x:  # none\n", "2: expected an indented block after 'if' statement on line 2"},
		{"a case has a block", "match x:\n    case 1:\n    case 2:\n        pass\n", "3: expected an indented block after 'case' statement on line 2"},
		{"a statement without a block has none", "x = 1\n  y = 2\n", "2: unexpected indent"},
		{"a block on the line of its statement is the only one", "if x: pass\n    y = 2\n", "2: unexpected indent"},
		{"a line belongs to one of the blocks", "if x:\n        y = 1\n    z = 2\n", "3: unindent does not match any outer indentation level"},
		{"the meaning of a tab is open", "if x:\n        y = 1\n\tz = 2\n", "3: inconsistent use of tabs and spaces in indentation"},
		{"a condition compares", "if x = 1:\n    pass\n", "1: invalid syntax. Maybe you meant '==' or ':=' instead of '='?"},
		{"print is a function", "if x:\n    print 'a'\n", "2: Missing parentheses in call to 'print'. Did you mean print(...)?"},
		{"two values have a comma", "a = [\n    b\n    'c',\n]\n", "3: invalid syntax"},
		{"a key has a value", "a = {'b': 1, 'c' 'd', **e}\n", "1: ':' expected after dictionary key"},
		{"a block of else belongs to a statement", "x = 1\nelse:\n    pass\n", "2: invalid syntax"},
		{"a try alone has no effect", "def f():\n    try:\n        pass\n\nx = 1\n", "5: expected 'except' or 'finally' block"},
		{"a return belongs to a function", "def f():\n    x = 1\nreturn x\n", "3: 'return' outside function"},
		{"a statement has no colon at its end", "f(x):\n    pass\n", "1: invalid syntax"},
		{"a backslash is the last character of its line", "a = 1 \\ \n", "1: unexpected character after line continuation character"},
		{"lines end as on any system", "a = 1\r\nb = 2\rdef c()\n", "3: expected ':'"},
		{"brackets have a limit", strings.Repeat("(", 1000), "1: too many nested parentheses"},
	} {
		e2e.ErrorHas(t, tc.reason, python.CheckSyntax("a.py", tc.source), "a.py:"+tc.want)
	}
	e2e.NoError(t, python.CheckSyntax("a.py", correct))
	for reason, source := range map[string]string{
		"a file may be empty": "", "a file may end in an indentation": "if x:\n\ty\n\t", "a file may end without a line break": "def f(): return 1",
		"a file may begin with a byte order mark": "\ufeffx = 1\n", "another encoding has other brackets": "# coding: utf-7\nx = )\n", "bytes of another encoding are no mistake": "# \xff\nx = )\n",
	} {
		e2e.WantError(t, reason, python.CheckSyntax("a.py", source), "")
	}
}

// correct has the syntax of Python 3.14 that is close to an error.
const correct = `# coding: utf-8
import a, os as b; x: int = 3
print  # a name
match = case = type = {**a, 'b': lambda x, y=(1, 2): {x, *y}, "c" 'd': [1, 2][::3]}
if (y := x) == 1 and (not x) or x: pass
if lambda a=1: a: pass
elif x!=1if y else 0x1or y: pass
else: x[1:2, ::3] = 1.if x else.5
match x:
    case {"a": [b, *_]} if b: print(match [1], type (2), case -3)
    case _: pass
type A[T: int = str] = list[T]
@f(lambda: {k: v for k, v in x}, {a for a, b in y})
async def g(a, /, *, b: 'x' = {1: 2}) -> {'a': 1}[b]:
  """It's { ( [ "quoted" \""" """
  async with a as b, c: return ur, br'\'' b"\
  )" rb'''
'"''' , u'' R'\\'
  for x in y: continue
  else:
	  (await x)
  try:
      x = not-1
      # Comments need
  # no indentation

      z = x if x else"y"
  except* (A, B) as e: raise
  else: await x
  finally: \
      pass
  return f'{x!r:>{y}}{{}}{z=:%H:%M}' f"{x["y"]:{'}'}}" rf'\{x}\'' f'\N{EM DASH}\'{x != 1}' \
    f'''{ # comment }
      {'a': 1}['a']:{{1:2}[1]}
    }''' t"{(lambda: 1)()}" F"{f"{f"{1}"}"}"
é = ... ; a @= b -1; c = (
def_, # a name that begins with a keyword
if_)
    # the end`

func FuzzCheckSyntax(f *testing.F) {
	f.Add(correct)
	f.Add("if x:\n\ty = f'''{a:{b}}\\N{'''\n")
	place := regexp.MustCompile(`^a\.py:(\d+): `)
	f.Fuzz(func(t *testing.T, source string) {
		err := python.CheckSyntax("a.py", source)
		if err == nil {
			return
		}
		m := place.FindStringSubmatch(err.Error())
		if m == nil {
			t.Fatalf("got %v, want its line", err)
		}
		if n, err := strconv.Atoi(m[1]); err != nil || n < 1 || n > 1+strings.Count(source, "\n")+strings.Count(source, "\r") {
			t.Errorf("got line %s of the source %q", m[1], source)
		}
	})
}
