package spec

import "encoding/json"

// A Transform changes a value.
type Transform struct {
	// Type says which of the other fields is required.
	Type    TransformType              `json:"type"`
	Math    *Math                      `json:"math,omitempty"`
	Map     map[string]json.RawMessage `json:"map,omitempty"`
	Match   *Match                     `json:"match,omitempty"`
	String  *String                    `json:"string,omitempty"`
	Convert *Convert                   `json:"convert,omitempty"`
}

// A TransformType is a kind of transform.
type TransformType string

// The types of transforms.
const (
	TransformMap     TransformType = "map"
	TransformMatch   TransformType = "match"
	TransformMath    TransformType = "math"
	TransformString  TransformType = "string"
	TransformConvert TransformType = "convert"
)

// Math changes a number.
type Math struct {
	// Type says which of the other fields is required.
	Type     MathType `json:"type,omitempty"`
	Multiply *int64   `json:"multiply,omitempty"`
	ClampMin *int64   `json:"clampMin,omitempty"`
	ClampMax *int64   `json:"clampMax,omitempty"`
}

// A MathType is a kind of arithmetic.
type MathType string

// The types of math transforms.
const (
	Multiply MathType = "Multiply"
	ClampMin MathType = "ClampMin"
	ClampMax MathType = "ClampMax"
)

// Match chooses a value by the first pattern that a string fits.
type Match struct {
	Patterns []Pattern `json:"patterns,omitempty"`
	// FallbackValue is the result if no pattern fits. Default: null.
	FallbackValue json.RawMessage `json:"fallbackValue,omitempty"`
	// FallbackTo is Value by default. Input makes the value itself the result,
	// and there must be no FallbackValue then. Anything else is Value.
	FallbackTo string `json:"fallbackTo,omitempty"`
}

// FallbackToInput makes the value itself the result where no pattern fits.
const FallbackToInput = "Input"

// A Pattern is a test of a string.
type Pattern struct {
	// Type says which of the next two is required. It has none by default: a
	// pattern without one is only found out when it is used.
	Type    PatternType `json:"type,omitempty"`
	Literal *string     `json:"literal,omitempty"`
	// Regexp is a regular expression of RE2, which may fit anywhere.
	Regexp *string `json:"regexp,omitempty"`
	// Result is null by default.
	Result json.RawMessage `json:"result,omitempty"`
}

// A PatternType is a kind of test.
type PatternType string

// The types of patterns.
const (
	MatchLiteral PatternType = "literal"
	MatchRegexp  PatternType = "regexp"
)

// String makes a string of any value.
type String struct {
	// Type says which of the other fields is required.
	Type StringType `json:"type,omitempty"`
	// Format is that of Go's fmt.Sprintf, for Format.
	Format *string `json:"fmt,omitempty"`
	// Convert names a conversion, which is not checked before it is used.
	Convert *string `json:"convert,omitempty"`
	// Trim is what TrimPrefix and TrimSuffix take away, once.
	Trim    *string      `json:"trim,omitempty"`
	Regexp  *Regexp      `json:"regexp,omitempty"`
	Join    *Join        `json:"join,omitempty"`
	Replace *Replacement `json:"replace,omitempty"`
}

// A StringType is a way to make strings.
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

// Regexp takes the first match of a regular expression of RE2.
type Regexp struct {
	Match string `json:"match"`
	// Group is the group of the match: by default 0, all of it.
	Group *int `json:"group,omitempty"`
}

// Join puts the elements of a list together.
type Join struct {
	Separator string `json:"separator"`
}

// A Replacement takes the place of every occurrence of Search.
type Replacement struct {
	Search  string `json:"search"`
	Replace string `json:"replace"`
}

// Convert makes a value of another type.
type Convert struct {
	ToType ConvertType `json:"toType"`
	// Format is none by default.
	Format *ConvertFormat `json:"format,omitempty"`
}

// A ConvertType is a type to convert to.
type ConvertType string

// The types to convert to. Int is Int64.
const (
	ToString  ConvertType = "string"
	ToInt     ConvertType = "int"
	ToInt64   ConvertType = "int64"
	ToBool    ConvertType = "bool"
	ToFloat64 ConvertType = "float64"
	ToObject  ConvertType = "object"
	ToArray   ConvertType = "array"
)

// A ConvertFormat is how a string is to be read.
type ConvertFormat string

// The formats.
const (
	FormatNone     ConvertFormat = "none"
	FormatQuantity ConvertFormat = "quantity"
	FormatJSON     ConvertFormat = "json"
)
