package spec

// Enum returns the types of patches.
func (PatchType) Enum() []string {
	return texts(FromCompositeFieldPath, ToCompositeFieldPath, CombineFromComposite, CombineToComposite,
		FromEnvironmentFieldPath, ToEnvironmentFieldPath, CombineFromEnvironment, CombineToEnvironment, PatchSetType)
}

// Enum returns the policies for toFieldPath.
func (ToPolicy) Enum() []string {
	return texts(Replace, MergeObjects, MergeObjectsAppendArrays, ForceMergeObjects, ForceMergeObjectsAppendArrays, MergeObject, AppendArray)
}

// Enum returns the policies for fromFieldPath.
func (FromPolicy) Enum() []string { return texts(FromOptional, FromRequired) }

// Enum returns the strategies of combine.
func (CombineStrategy) Enum() []string { return texts(CombineByString) }

// Enum returns the types of connection details.
func (ConnectionDetailType) Enum() []string {
	return texts(FromConnectionSecretKey, FromFieldPath, FromValue)
}

// Enum returns the types of readiness checks.
func (ReadinessCheckType) Enum() []string {
	return texts(CheckNonEmpty, CheckMatchString, CheckMatchInteger, CheckMatchTrue, CheckMatchFalse, CheckMatchCondition, CheckNone)
}

// Enum returns the types of transforms.
func (TransformType) Enum() []string {
	return texts(TransformMap, TransformMatch, TransformMath, TransformString, TransformConvert)
}

// Enum returns the types of patterns of the transform match.
func (PatternType) Enum() []string { return texts(MatchLiteral, MatchRegexp) }

// Enum returns the types of the transform math.
func (MathType) Enum() []string { return texts(Multiply, ClampMin, ClampMax) }

// Enum returns the types of the transform string.
func (StringType) Enum() []string {
	return texts(Format, ConvertString, TrimPrefix, TrimSuffix, RegexpMatch, JoinList, ReplaceAll)
}

// Enum returns the formats of the transform convert.
func (ConvertFormat) Enum() []string { return texts(FormatNone, FormatQuantity, FormatJSON) }

// Enum returns the types of the transform convert.
func (ConvertType) Enum() []string {
	return texts(ToString, ToInt, ToInt64, ToBool, ToFloat64, ToObject, ToArray)
}

func texts[T ~string](values ...T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	return all
}
