package sdk

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
	kjson "sigs.k8s.io/json"
)

// Decode decodes a function's input into a struct by its json tags. Unknown
// fields, field names in another case, and values of the wrong type are errors.
//
// An error begins with the text of the real functions, whose input types are in Go packages
// called v1beta1. The text after "json: " is that of the JSON library.
func Decode(input *structpb.Struct, into any) error {
	raw, err := input.MarshalJSON()
	if err == nil {
		var unknown []error
		if unknown, err = kjson.UnmarshalStrict(raw, into, kjson.DisallowUnknownFields); err == nil && len(unknown) > 0 {
			err = unknown[0]
		}
	}
	if err != nil {
		kind := reflect.TypeOf(into).Elem().Name()
		return fmt.Errorf("cannot get function input *v1beta1.%s from *v1.RunFunctionRequest: cannot unmarshal JSON from *structpb.Struct into *v1beta1.%s: json: %s", kind, kind, strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// most is the maximum number of values in a Memo. A Memo is emptied before it
// would have more.
const most = 256

// A Memo caches a value for each key. All composite resources of a render use the
// same Memo. The zero value is empty. A Memo is safe for concurrent use.
type Memo[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]func() (V, error)
}

// Get returns the cached value for key. If there is none, Get calls compute.
// Concurrent calls of Get with the same key call compute only once.
func (m *Memo[K, V]) Get(key K, compute func() (V, error)) (V, error) {
	return m.entry(key, compute)()
}

func (m *Memo[K, V]) entry(key K, compute func() (V, error)) func() (V, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.values[key]; ok {
		return v
	}
	if m.values == nil || len(m.values) >= most {
		m.values = map[K]func() (V, error){}
	}
	v := sync.OnceValues(compute)
	m.values[key] = v
	return v
}

// A Sum is the SHA-256 digest of an input.
type Sum [sha256.Size]byte

// SumOf returns the digest of an input. Equal inputs have equal digests. SumOf is
// ten times as fast as a digest of the output of a deterministic proto.Marshal.
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
