package limit

import (
	"errors"
	"math"
	"reflect"
	"regexp/syntax"
	"strings"
	"sync"
)

// A price says what a call with args takes at most, in bytes. Beyond most it may
// say anything that is more. It returns an error if the call must not be made.
type price func(args []reflect.Value, most float64) (float64, error)

// A rule says how a function pays. It has to be able to pay the price; what it
// does pay is the length of its result, if that is text, and else the price. Who
// borrows gives out what is there already, and pays for the surface of that.
type rule struct {
	price   price
	borrows bool
	// whole is for functions that pay the price itself.
	whole bool
	// long calls may take longer than the execution has.
	long bool
	// arguments is how many there may be, if that is less than for others.
	arguments int
}

// rules has those functions whose price is not that of their arguments as text.
var rules = sync.OnceValue(func() map[string]rule {
	table := map[string]rule{}
	add := func(r rule, names string) {
		for name := range strings.FieldsSeq(names) {
			table[name] = r
		}
	}
	add(rule{price: flat, borrows: true}, `all any coalesce default dig empty first get hasKey kindIs kindOf last mustFirst mustLast
		set ternary typeIs typeIsLike typeOf unset`)
	add(rule{price: surface, borrows: true}, `append compact concat initial keys list mustAppend mustCompact mustInitial mustPrepend
		mustPush mustRest mustReverse omit pick pluck prepend push rest reverse tuple values`)
	add(rule{price: times(2, surface)}, `chunk mustChunk`)
	add(rule{price: indexes, borrows: true}, `mustSlice slice`)
	add(rule{price: pairs, whole: true}, `dict`)
	add(rule{price: square, borrows: true}, `mustUniq mustWithout uniq without`)
	add(rule{price: times(4, text)}, `deepCopy mustDeepCopy`)
	add(rule{price: merged}, `merge mergeOverwrite mustMerge mustMergeOverwrite`)
	add(rule{price: times(8, text)}, `fromJson mustFromJson`)
	add(rule{price: repeated}, `repeat`)
	add(rule{price: indented}, `indent nindent`)
	add(rule{price: replaced}, `replace`)
	add(rule{price: joined}, `join`)
	add(rule{price: wrapped}, `wrap wrapWith`)
	add(rule{price: parts, borrows: true}, `split splitList splitn`)
	add(rule{price: formatted}, `printf`)
	add(rule{price: sequence}, `seq`)
	add(rule{price: steps}, `until untilStep`)
	add(rule{price: random}, `randAlpha randAlphaNum randAscii randBytes randNumeric`)
	// What replaces matches is paid for as they are found: see search.
	add(rule{price: matched, borrows: true}, `mustRegexFind mustRegexMatch mustRegexReplaceAll mustRegexReplaceAllLiteral
		regexFind regexMatch regexReplaceAll regexReplaceAllLiteral`)
	add(rule{price: allMatched, borrows: true}, `mustRegexFindAll mustRegexSplit regexFindAll regexSplit`)
	// Decimals get longer by each argument, keys take what they take.
	add(rule{price: text, long: true, arguments: 100}, `addf divf mulf subf`)
	add(rule{price: text, long: true}, `bcrypt derivePassword genCA genPrivateKey genSelfSignedCert genSignedCert htpasswd`)
	add(rule{price: short(1 << 10)}, `semver semverCompare`)
	add(rule{price: short(16 << 10), long: true}, `buildCustomCert genCAWithKey genSelfSignedCertWithKey genSignedCertWithKey`)
	return table
})

var (
	errWork   = errors.New("the work is too much for one call")
	errLength = errors.New("an argument is too long")
)

// maxWork bounds the steps of a call that takes more than its result is worth.
const maxWork = 1 << 27

func flat([]reflect.Value, float64) (float64, error) { return entrySize * 2, nil }

// resultSize is what a result takes that is neither text nor made of the
// arguments' parts: a time, or the map of a URL's.
const resultSize = 1 << 10

// text is the price of functions that walk their arguments, and write them.
func text(args []reflect.Value, most float64) (float64, error) {
	total := float64(resultSize)
	for _, arg := range args {
		size, err := sizeOf(arg, asText, most-total)
		if err != nil {
			return total, err
		}
		total += size
	}
	return total, nil
}

func times(n float64, p price) price {
	return func(args []reflect.Value, most float64) (float64, error) {
		size, err := p(args, most/n)
		return n * size, err
	}
}

// surface is the price of functions that copy lists and maps, but not what is in
// them, nor text.
func surface(args []reflect.Value, _ float64) (float64, error) {
	total := 0.0
	for _, arg := range args {
		total += placeOf(arg)
		if arg.Kind() == reflect.Slice {
			for i := range arg.Len() {
				total += placeOf(arg.Index(i))
			}
		}
	}
	return 2 * total, nil
}

func placeOf(v reflect.Value) float64 {
	if concrete(v).Kind() == reflect.String {
		return scalarSize
	}
	return surfaceOf(v)
}

// merged is the price of adding the other arguments to the first, which is only
// looked at.
func merged(args []reflect.Value, most float64) (float64, error) {
	if size, err := sizeOf(args[0], asText, most); err != nil {
		return size, err
	}
	return times(4, text)(args[1:], most)
}

func indexes(args []reflect.Value, most float64) (float64, error) { return text(args[1:], most) }

// pairs is the price of a map of keys and values in turn: keys are made text.
func pairs(args []reflect.Value, most float64) (float64, error) {
	total := mapSize((args[0].Len() + 1) / 2)
	for i := 0; i < args[0].Len(); i += 2 {
		size, err := sizeOf(args[0].Index(i), asText, most-total)
		if err != nil {
			return total, err
		}
		total += size
	}
	return total, nil
}

// square is the price of comparing all with all of the last list.
func square(args []reflect.Value, most float64) (float64, error) {
	size, err := text(args, most)
	if err != nil {
		return size, err
	}
	if float64(length(args[len(args)-1]))*size/scalarSize > maxWork {
		return size, errWork
	}
	return size, nil
}

func length(v reflect.Value) int {
	if v = concrete(v); v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
		return v.Len()
	}
	return 1
}

func repeated(args []reflect.Value, _ float64) (float64, error) {
	return float64(args[0].Int()) * float64(args[1].Len()), nil
}

func indented(args []reflect.Value, _ float64) (float64, error) {
	lines := 1 + strings.Count(args[1].String(), "\n")
	return 2 * (math.Max(0, float64(args[0].Int()))*float64(lines) + float64(args[1].Len()+1)), nil
}

func replaced(args []reflect.Value, _ float64) (float64, error) {
	from, to, in := args[0].String(), args[1].String(), args[2].String()
	return float64(len(in)) + float64(strings.Count(in, from))*float64(len(to)), nil
}

func joined(args []reflect.Value, most float64) (float64, error) {
	size, err := text(args, most)
	return size + float64(args[0].Len())*float64(length(args[1])), err
}

func wrapped(args []reflect.Value, _ float64) (float64, error) {
	width, in := max(1, args[0].Int()), float64(args[len(args)-1].Len())
	separator := 1
	if len(args) == 3 {
		separator = max(1, args[1].Len())
	}
	lines := in
	if separator > 1 {
		lines = in/float64(width) + float64(strings.Count(args[2].String(), " ")) + 1
	}
	return 2 * (in + lines*float64(separator)), nil
}

// parts is the price of cutting the last argument at the first.
func parts(args []reflect.Value, _ float64) (float64, error) {
	n := strings.Count(args[len(args)-1].String(), args[0].String()) + 1
	return float64(2 * entrySize * n), nil
}

// formatted is the price of a format, of which each verb may write all arguments,
// and each width holds for all that is in them.
func formatted(args []reflect.Value, most float64) (float64, error) {
	const widest = 1_000_000 // of package fmt
	size, err := text(args[1:], most)
	if err != nil {
		return size, err
	}
	format := args[0].String()
	width := float64(widest * strings.Count(format, "*"))
	for digits := range strings.FieldsFuncSeq(format, func(r rune) bool { return r < '0' || r > '9' }) {
		n := 0
		for _, digit := range digits {
			n = min(widest, 10*n+int(digit-'0'))
		}
		width += float64(n)
	}
	verbs := float64(strings.Count(format, "%"))
	return float64(len(format)) + verbs*(size+scalarSize) + width*(size/scalarSize+1), nil
}

// steps is the price of the numbers up to the only argument, or from the first
// to the second by the third.
func steps(args []reflect.Value, _ float64) (float64, error) {
	if len(args) == 1 {
		n := float64(args[0].Int())
		return counted(0, n, math.Copysign(1, n))
	}
	return counted(float64(args[0].Int()), float64(args[1].Int()), float64(args[2].Int()))
}

// sequence is the price of the numbers up to the last of the arguments, from the
// first, by the second of three.
func sequence(args []reflect.Value, _ float64) (float64, error) {
	n := args[0].Interface().([]int)
	from, step := 1.0, 1.0
	switch len(n) {
	case 0:
		return scalarSize, nil
	case 1:
	default:
		from = float64(n[0])
	}
	to := float64(n[len(n)-1])
	step = math.Copysign(step, to-from)
	if len(n) == 3 {
		step = float64(n[1])
	}
	return counted(from, to, step)
}

// counted is the price of numbers. An end so far away that the number after it is
// not an integer any more would never come.
func counted(from, to, step float64) (float64, error) {
	if math.Abs(to)+math.Abs(step) > math.MaxInt64/2 {
		return 0, errWork
	}
	if step == 0 {
		return scalarSize, nil
	}
	return entrySize * max(1, (to-from)/step+2), nil
}

// random is the price of random text, each character of which takes a while.
func random(args []reflect.Value, _ float64) (float64, error) {
	return 1024 * math.Max(0, float64(args[0].Int())), nil
}

// matched is the price of finding a regular expression in a text.
func matched(args []reflect.Value, _ float64) (float64, error) {
	const maxPattern = 64 << 10
	pattern, in := args[0].String(), float64(args[1].Len()+1)
	if len(pattern) > maxPattern {
		return 0, errLength
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return resultSize, nil // what the function says of it is better
	}
	return 512*expanded(parsed)*float64(1+parsed.MaxCap()) + in, nil
}

// allMatched is the price of a list of all matches.
func allMatched(args []reflect.Value, most float64) (float64, error) {
	size, err := matched(args, most)
	return size + float64(2*pointerSize*(args[1].Len()+1)), err
}

// expanded returns how many instructions a regular expression is, without making
// them: (a{1000}){1000} is a million.
func expanded(re *syntax.Regexp) float64 {
	size := float64(1 + len(re.Rune))
	for _, sub := range re.Sub {
		size += expanded(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= float64(max(1, re.Min, re.Max))
	}
	return size
}

// short is the price of functions to which no long text makes sense, and who
// take long with it: the key of an RSA certificate, say.
func short(most int) price {
	return func(args []reflect.Value, left float64) (float64, error) {
		for _, arg := range args {
			if arg.Kind() == reflect.String && arg.Len() > most {
				return 0, errLength
			}
		}
		return text(args, left)
	}
}
