package sdk

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/types/known/structpb"
)

// A Sum is a digest of an input.
type Sum [sha256.Size]byte

// SumOf returns the sum of an input. Equal inputs have equal sums. It is ten
// times as fast as a deterministic proto.Marshal.
func SumOf(input *structpb.Struct) Sum {
	return sha256.Sum256(appendObject(nil, input))
}

func appendObject(b []byte, s *structpb.Struct) []byte {
	b = binary.AppendUvarint(append(b, '{'), uint64(len(s.GetFields())))
	for _, key := range slices.Sorted(maps.Keys(s.GetFields())) {
		b = appendValue(appendText(b, key), s.GetFields()[key])
	}
	return b
}

func appendValue(b []byte, v *structpb.Value) []byte {
	switch v := v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return appendText(b, v.StringValue)
	case *structpb.Value_NumberValue:
		return binary.BigEndian.AppendUint64(append(b, 'n'), math.Float64bits(v.NumberValue))
	case *structpb.Value_BoolValue:
		if v.BoolValue {
			return append(b, 't')
		}
		return append(b, 'f')
	case *structpb.Value_StructValue:
		return appendObject(b, v.StructValue)
	case *structpb.Value_ListValue:
		b = binary.AppendUvarint(append(b, '['), uint64(len(v.ListValue.GetValues())))
		for _, element := range v.ListValue.GetValues() {
			b = appendValue(b, element)
		}
		return b
	default:
		return append(b, '0')
	}
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(append(b, '"'), uint64(len(s))), s...)
}
