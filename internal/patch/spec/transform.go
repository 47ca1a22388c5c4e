package spec

import "encoding/json"

// A Transform converts one value to another.
type Transform struct {
	// Type decides whether Math, Map, Match, String or Convert is required.
	Type    TransformType              `json:"type" required:""`
	Math    *Math                      `json:"math,omitempty"`
	Map     map[string]json.RawMessage `json:"map,omitempty"`
	Match   *Match                     `json:"match,omitempty"`
	String  *String                    `json:"string,omitempty"`
	Convert *Convert                   `json:"convert,omitempty"`
}

// A TransformType is a type of transform.
type TransformType string

// The types of transforms.
const (
	TransformMap     TransformType = "map"
	TransformMatch   TransformType = "match"
	TransformMath    TransformType = "math"
	TransformString  TransformType = "string"
	TransformConvert TransformType = "convert"
)

// Math computes a number from another number.
type Math struct {
	// Type decides whether Multiply, ClampMin or ClampMax is required.
	Type     MathType `json:"type,omitempty"`
	Multiply *int64   `json:"multiply,omitempty"`
	ClampMin *int64   `json:"clampMin,omitempty"`
	ClampMax *int64   `json:"clampMax,omitempty"`
}

// A MathType is the operation of a math transform.
type MathType string

// The operations of math transforms.
const (
	Multiply MathType = "Multiply"
	ClampMin MathType = "ClampMin"
	ClampMax MathType = "ClampMax"
)

// Match returns the result of the first pattern that matches the value.
type Match struct {
	Patterns []Pattern `json:"patterns,omitempty"`
	// FallbackValue is the result if no pattern matches. Default: null.
	FallbackValue json.RawMessage `json:"fallbackValue,omitempty"`
	// FallbackTo selects the result if no pattern matches: the input for FallbackToInput,
	// which excludes a FallbackValue, and FallbackValue for any other text.
	FallbackTo string `json:"fallbackTo,omitempty"`
}

// FallbackToInput is the value of Match.FallbackTo that returns the input if no
// pattern matches.
const FallbackToInput = "Input"

// A Pattern of a match transform matches strings.
type Pattern struct {
	// Type decides whether Literal or Regexp is required. Validation treats a pattern
	// without a type as a MatchLiteral, but the transform then fails.
	Type    PatternType `json:"type,omitempty"`
	Literal *string     `json:"literal,omitempty"`
	// Regexp is an RE2 regular expression. It matches anywhere in the string.
	Regexp *string `json:"regexp,omitempty"`
	// Result is the result if the pattern matches. Default: null.
	Result json.RawMessage `json:"result,omitempty"`
}

// A PatternType is a type of pattern.
type PatternType string

// The types of patterns.
const (
	MatchLiteral PatternType = "literal"
	MatchRegexp  PatternType = "regexp"
)

// String converts any value to a string.
type String struct {
	// Type decides whether Format, Convert, Trim, Regexp, Join or Replace is required.
	Type StringType `json:"type,omitempty"`
	// Format is a format for Go's fmt.Sprintf, with the value as its argument.
	Format *string `json:"fmt,omitempty"`
	// Convert is the name of a conversion, such as "ToUpper". Validation accepts any name.
	Convert *string `json:"convert,omitempty"`
	// Trim is the prefix or suffix that is removed once.
	Trim    *string      `json:"trim,omitempty"`
	Regexp  *Regexp      `json:"regexp,omitempty"`
	Join    *Join        `json:"join,omitempty"`
	Replace *Replacement `json:"replace,omitempty"`
}

// A StringType is a type of string transform.
type StringType string

// The types of string transforms.
const (
	Format        StringType = "Format"
	ConvertString StringType = "Convert"
	TrimPrefix    StringType = "TrimPrefix"
	TrimSuffix    StringType = "TrimSuffix"
	RegexpMatch   StringType = "Regexp"
	JoinList      StringType = "Join"
	ReplaceAll    StringType = "Replace"
)

// Regexp returns the first match of an RE2 regular expression in a string.
type Regexp struct {
	Match string `json:"match" required:""`
	// Group is the number of the capturing group to return. Default: 0, the whole match.
	Group *int `json:"group,omitempty"`
}

// Join concatenates the elements of a list with Separator.
type Join struct {
	Separator string `json:"separator" required:""`
}

// A Replacement replaces all occurrences of Search by Replace.
type Replacement struct {
	Search  string `json:"search" required:""`
	Replace string `json:"replace" required:""`
}

// Convert converts a value to another type.
type Convert struct {
	ToType ConvertType `json:"toType" required:""`
	// Format is the format of the input string. Default: FormatNone.
	Format *ConvertFormat `json:"format,omitempty"`
}

// A ConvertType is the target type of a convert transform.
type ConvertType string

// The target types of convert transforms. ToInt is an alias of ToInt64.
const (
	ToString  ConvertType = "string"
	ToInt     ConvertType = "int"
	ToInt64   ConvertType = "int64"
	ToBool    ConvertType = "bool"
	ToFloat64 ConvertType = "float64"
	ToObject  ConvertType = "object"
	ToArray   ConvertType = "array"
)

// A ConvertFormat is the format of the string that a convert transform parses.
type ConvertFormat string

// The formats of strings that a convert transform parses.
const (
	FormatNone     ConvertFormat = "none"
	FormatQuantity ConvertFormat = "quantity"
	FormatJSON     ConvertFormat = "json"
)
