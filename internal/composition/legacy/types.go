package legacy

// spec is what a Composition's spec has that a pipeline lacks. But for merge
// options, and for the environment, it is also how the input of
// function-patch-and-transform looks.
type spec struct {
	PatchSets   []patchSet       `json:"patchSets"`
	Environment environment      `json:"environment"`
	Resources   []resource       `json:"resources"`
	Functions   []alphaFunction  `json:"functions"`
	Pipeline    []map[string]any `json:"pipeline"`
}

type patchSet struct {
	Name    string  `json:"name"`
	Patches []patch `json:"patches"`
}

type resource struct {
	Name              string             `json:"name"`
	Base              map[string]any     `json:"base,omitzero"`
	Patches           []patch            `json:"patches,omitempty"`
	ConnectionDetails []connectionDetail `json:"connectionDetails,omitempty"`
	ReadinessChecks   []readinessCheck   `json:"readinessChecks,omitempty"`
}

type connectionDetail struct {
	Name                    string  `json:"name"`
	Type                    string  `json:"type"`
	Value                   *string `json:"value,omitempty"`
	FromConnectionSecretKey *string `json:"fromConnectionSecretKey,omitempty"`
	FromFieldPath           *string `json:"fromFieldPath,omitempty"`
}

type readinessCheck struct {
	Type           string          `json:"type"`
	FieldPath      *string         `json:"fieldPath,omitempty"`
	MatchString    *string         `json:"matchString,omitempty"`
	MatchInteger   *int64          `json:"matchInteger,omitempty"`
	MatchCondition *matchCondition `json:"matchCondition,omitempty"`
}

type matchCondition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
}

type patch struct {
	Type          string      `json:"type"`
	FromFieldPath *string     `json:"fromFieldPath,omitempty"`
	Combine       *combine    `json:"combine,omitempty"`
	ToFieldPath   *string     `json:"toFieldPath,omitempty"`
	Transforms    []transform `json:"transforms,omitempty"`
	Policy        policy      `json:"policy,omitzero"`
	// PatchSetName is only there in resources.
	PatchSetName *string `json:"patchSetName,omitempty"`
}

type combine struct {
	Strategy  string         `json:"strategy"`
	Variables []variable     `json:"variables"`
	String    *combineString `json:"string,omitempty"`
}

type variable struct {
	FromFieldPath string `json:"fromFieldPath"`
}

type combineString struct {
	Format string `json:"fmt"`
}

type policy struct {
	FromFieldPath string `json:"fromFieldPath,omitempty"`
	// ToFieldPath is what becomes of MergeOptions, and MergeOptions what it
	// was.
	ToFieldPath  string        `json:"toFieldPath,omitempty"`
	MergeOptions *mergeOptions `json:"mergeOptions,omitempty"`
}

type mergeOptions struct {
	KeepMapValues bool `json:"keepMapValues"`
	AppendSlice   bool `json:"appendSlice"`
}

type transform struct {
	Type    string         `json:"type"`
	Map     map[string]any `json:"map,omitzero"`
	Match   *match         `json:"match,omitempty"`
	Math    *math          `json:"math,omitempty"`
	String  *stringChange  `json:"string,omitempty"`
	Convert *convert       `json:"convert,omitempty"`
}

type match struct {
	Patterns      []pattern `json:"patterns,omitempty"`
	FallbackValue any       `json:"fallbackValue,omitempty"`
	FallbackTo    string    `json:"fallbackTo,omitempty"`
}

type pattern struct {
	Type    string  `json:"type"`
	Literal *string `json:"literal,omitempty"`
	Regexp  *string `json:"regexp,omitempty"`
	Result  any     `json:"result,omitempty"`
}

type math struct {
	Type     string `json:"type"`
	Multiply *int64 `json:"multiply,omitempty"`
	ClampMin *int64 `json:"clampMin,omitempty"`
	ClampMax *int64 `json:"clampMax,omitempty"`
}

type stringChange struct {
	Type    string   `json:"type"`
	Format  *string  `json:"fmt,omitempty"`
	Convert *string  `json:"convert,omitempty"`
	Trim    *string  `json:"trim,omitempty"`
	Regexp  *extract `json:"regexp,omitempty"`
	Join    *join    `json:"join,omitempty"`
	Replace *replace `json:"replace,omitempty"`
}

type extract struct {
	Match string `json:"match"`
	Group *int   `json:"group,omitempty"`
}

type join struct {
	Separator string `json:"separator"`
}

type replace struct {
	Search  string `json:"search"`
	Replace string `json:"replace"`
}

type convert struct {
	ToType string  `json:"toType"`
	Format *string `json:"format,omitempty"`
}
