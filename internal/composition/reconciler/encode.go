package reconciler

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"math"
	"slices"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

// encode writes the deterministic encoding of a request without metadata. It streams the bytes,
// because a list of numbers needs eleven bytes for each element.
func encode(w io.Writer, req *fnv1.RunFunctionRequest) error {
	out := bufio.NewWriterSize(w, 1<<10)
	e := &encoder{out: out}
	// The fields of a message are encoded in the order of their numbers. resource, composite and
	// observed have the least numbers of their messages, before desired and input.
	if resource := req.GetObserved().GetComposite().GetResource(); resource == nil {
		e.message(&fnv1.RunFunctionRequest{Observed: req.GetObserved()})
	} else {
		composite, observed := Without(req.GetObserved().GetComposite(), "resource"), Without(req.GetObserved(), "composite")
		size := e.measure(resource)
		inComposite := nested(size) + proto.Size(composite)
		e.begin(2, nested(inComposite)+proto.Size(observed))
		e.begin(1, inComposite)
		e.begin(1, size)
		e.object(resource)
		e.message(composite)
		e.message(observed)
	}
	e.message(&fnv1.RunFunctionRequest{Desired: req.GetDesired()})
	if input := req.GetInput(); input != nil {
		e.begin(4, e.measure(input))
		e.object(input)
	}
	e.message(Without(req, "observed", "desired", "input"))
	return errors.Join(e.err, out.Flush())
}

// Without returns a copy of a message without some fields. It shares the values of the others.
func Without(from proto.Message, names ...protoreflect.Name) proto.Message {
	to := from.ProtoReflect().New()
	from.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if !slices.Contains(names, field.Name()) {
			to.Set(field, v)
		}
		return true
	})
	to.SetUnknown(from.ProtoReflect().GetUnknown())
	return to.Interface()
}

// An encoder writes objects in the wire format of protocol buffers. Its writer keeps errors.
type encoder struct {
	out *bufio.Writer
	// sizes are the sizes of the objects and lists that were measured, and keys the sorted keys
	// of the objects, both in the order in which they are written.
	sizes []int
	keys  []string
	// err is the first error of message.
	err error
}

// message writes the fields of m, not a tag and a size. An error is kept in e.err.
func (e *encoder) message(m proto.Message) {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	_, _ = e.out.Write(b)
	e.err = cmp.Or(e.err, err)
}

// nested returns the size of a field with a message of this size. The number of the field is
// less than 16.
func nested(size int) int { return 1 + protowire.SizeBytes(size) }

// begin writes the tag and the size of a message or string, whose bytes must follow.
func (e *encoder) begin(field protowire.Number, size int) {
	b := protowire.AppendTag(e.out.AvailableBuffer(), field, protowire.BytesType)
	_, _ = e.out.Write(protowire.AppendVarint(b, uint64(size)))
}

// measure returns the size of an object, and prepares its encoder: object must follow.
func (e *encoder) measure(s *structpb.Struct) int {
	e.sizes, e.keys = e.sizes[:0], e.keys[:0]
	e.fields(s)
	return e.nextSize()
}

// nextSize returns the size of the next object or list to write.
func (e *encoder) nextSize() int {
	size := e.sizes[0]
	e.sizes = e.sizes[1:]
	return size
}

// fields returns the size of an object.
func (e *encoder) fields(s *structpb.Struct) int {
	at, first := len(e.sizes), len(e.keys)
	e.sizes = append(e.sizes, 0)
	for key := range s.GetFields() {
		e.keys = append(e.keys, key)
	}
	slices.Sort(e.keys[first:])
	size := 0
	for i := first; i < first+len(s.GetFields()); i++ {
		size += nested(nested(len(e.keys[i])) + nested(e.value(s.GetFields()[e.keys[i]])))
	}
	e.sizes[at] = size
	return size
}

// elements appends the size of a list to e.sizes, before the sizes of what it contains, and returns it.
func (e *encoder) elements(l *structpb.ListValue) int {
	at, size, each := len(e.sizes), 0, 0
	e.sizes = append(e.sizes, 0)
	var last *structpb.Value
	for _, v := range l.GetValues() {
		if v != last || !isScalarValue(v) {
			last, each = v, nested(e.value(v))
		}
		size += each
	}
	e.sizes[at] = size
	return size
}

func isScalarValue(v *structpb.Value) bool {
	switch v.GetKind().(type) {
	case *structpb.Value_StructValue, *structpb.Value_ListValue:
		return false
	}
	return true
}

// value returns the size of a Value message, and appends the sizes of objects and lists to e.sizes.
func (e *encoder) value(v *structpb.Value) int {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return nested(e.fields(kind.StructValue))
	case *structpb.Value_ListValue:
		return nested(e.elements(kind.ListValue))
	default:
		return sizeOfScalar(v)
	}
}

func sizeOfScalar(v *structpb.Value) int {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return 1 + protowire.SizeFixed64()
	case *structpb.Value_StringValue:
		return nested(len(kind.StringValue))
	default:
		return proto.Size(v)
	}
}

// object writes an object. Maps are sorted by their keys.
func (e *encoder) object(s *structpb.Struct) {
	keys := e.keys[:len(s.GetFields())]
	e.keys = e.keys[len(keys):]
	for _, key := range keys {
		v := s.GetFields()[key]
		size := e.sizeToWrite(v)
		e.begin(1, nested(len(key))+nested(size))
		e.begin(1, len(key))
		_, _ = e.out.WriteString(key)
		e.begin(2, size)
		e.write(v)
	}
}

// sizeToWrite returns the size of v, which must be the next value to write: the size of an object or
// list is the first of e.sizes.
func (e *encoder) sizeToWrite(v *structpb.Value) int {
	if isScalarValue(v) {
		return sizeOfScalar(v)
	}
	return nested(e.sizes[0])
}

// write writes a value. It consumes the sizes of objects and lists.
func (e *encoder) write(v *structpb.Value) {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_StructValue:
		e.begin(5, e.nextSize())
		e.object(kind.StructValue)
	case *structpb.Value_ListValue:
		e.begin(6, e.nextSize())
		e.list(kind.ListValue)
	default:
		_, _ = e.out.Write(appendScalar(e.out.AvailableBuffer(), v))
	}
}

func appendScalar(b []byte, v *structpb.Value) []byte {
	switch kind := v.GetKind().(type) {
	case *structpb.Value_NumberValue:
		return protowire.AppendFixed64(protowire.AppendTag(b, 2, protowire.Fixed64Type), math.Float64bits(kind.NumberValue))
	case *structpb.Value_StringValue:
		return protowire.AppendString(protowire.AppendTag(b, 3, protowire.BytesType), kind.StringValue)
	}
	b, _ = proto.MarshalOptions{}.MarshalAppend(b, v) // null, a boolean, or no kind
	return b
}

// list writes a list. It encodes successive scalars that share memory once.
func (e *encoder) list(l *structpb.ListValue) {
	var last *structpb.Value
	var encoded []byte
	for _, v := range l.GetValues() {
		if !isScalarValue(v) {
			e.begin(1, e.sizeToWrite(v))
			e.write(v)
			continue
		}
		if v != last {
			last = v
			encoded = protowire.AppendTag(encoded[:0], 1, protowire.BytesType)
			encoded = appendScalar(protowire.AppendVarint(encoded, uint64(sizeOfScalar(v))), v)
		}
		_, _ = e.out.Write(encoded)
	}
}
