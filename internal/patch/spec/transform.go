package spec

import "encoding/json"

// A Transform changes a value.
type Transform struct {
	// Type decides which of the other fields is required.
	Type    TransformType              `json:"type"`
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

// Math computes a number from a number.
type Math struct {
	// Type decides which of the other fields is required.
	Type     MathType `json:"type,omitempty"`
	Multiply *int64   `json:"multiply,omitempty"`
	ClampMin *int64   `json:"clampMin,omitempty"`
	ClampMax *int64   `json:"clampMax,omitempty"`
}

// A MathType is a type of math transform.
type MathType string

// The types of math transforms.
const (
	Multiply MathType = "Multiply"
	ClampMin MathType = "ClampMin"
	ClampMax MathType = "ClampMax"
)

// Match returns the result of the first pattern that matches a string.
type Match struct {
	Patterns []Pattern `json:"patterns,omitempty"`
	// FallbackValue is the result if no pattern matches. Default: null.
	FallbackValue json.RawMessage `json:"fallbackValue,omitempty"`
	// FallbackTo is FallbackToInput, which excludes a FallbackValue, or any
	// other text, which selects FallbackValue.
	FallbackTo string `json:"fallbackTo,omitempty"`
}

// FallbackToInput returns the input if no pattern matches.
const FallbackToInput = "Input"

// A Pattern matches strings.
type Pattern struct {
	// Type decides which of the next two fields is required. Validation
	// accepts a pattern without a type, which fails when it is used.
	Type    PatternType `json:"type,omitempty"`
	Literal *string     `json:"literal,omitempty"`
	// Regexp is an RE2 regular expression, which is not anchored.
	Regexp *string `json:"regexp,omitempty"`
	// Result is null by default.
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
	// Type decides which of the other fields is required.
	Type StringType `json:"type,omitempty"`
	// Format is a format of Go's fmt.Sprintf.
	Format *string `json:"fmt,omitempty"`
	// Convert is the name of a conversion. Validation accepts any name.
	Convert *string `json:"convert,omitempty"`
	// Trim is the text that TrimPrefix and TrimSuffix remove once.
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

// Regexp returns the first match of an RE2 regular expression.
type Regexp struct {
	Match string `json:"match"`
	// Group is the group of the match to return. Default: 0, the whole match.
	Group *int `json:"group,omitempty"`
}

// Join concatenates the elements of a list.
type Join struct {
	Separator string `json:"separator"`
}

// A Replacement replaces all occurrences of Search.
type Replacement struct {
	Search  string `json:"search"`
	Replace string `json:"replace"`
}

// Convert converts a value to another type.
type Convert struct {
	ToType ConvertType `json:"toType"`
	// Format is none by default.
	Format *ConvertFormat `json:"format,omitempty"`
}

// A ConvertType is a type to convert to.
type ConvertType string

// The types to convert to. ToInt means ToInt64.
const (
	ToString  ConvertType = "string"
	ToInt     ConvertType = "int"
	ToInt64   ConvertType = "int64"
	ToBool    ConvertType = "bool"
	ToFloat64 ConvertType = "float64"
	ToObject  ConvertType = "object"
	ToArray   ConvertType = "array"
)

// A ConvertFormat is the format of a string to convert.
type ConvertFormat string

// The formats.
const (
	FormatNone     ConvertFormat = "none"
	FormatQuantity ConvertFormat = "quantity"
	FormatJSON     ConvertFormat = "json"
)
