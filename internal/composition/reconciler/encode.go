package reconciler

import (
	"bufio"
	"errors"
	"io"
	"maps"
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
	resource := req.GetObserved().GetComposite().GetResource()
	if resource == nil {
		return write(w, req)
	}
	out := bufio.NewWriter(w)
	e := encoder{out: out, sizes: map[any]int{}}
	// The fields of a message are encoded in the order of their numbers, and resource,
	// composite and observed have the least numbers of their messages.
	composite, observed := without(req.GetObserved().GetComposite(), "resource"), without(req.GetObserved(), "composite")
	size := e.fields(resource)
	inComposite := nested(size) + proto.Size(composite)
	e.begin(2, nested(inComposite)+proto.Size(observed))
	e.begin(1, inComposite)
	e.begin(1, size)
	e.object(resource)
	return errors.Join(write(out, composite), write(out, observed), write(out, without(req, "observed")), out.Flush())
}

// without returns a copy of a message without a field. It shares the values of the others.
func without(from proto.Message, name protoreflect.Name) proto.Message {
	to := from.ProtoReflect().New()
	from.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if field.Name() != name {
			to.Set(field, v)
		}
		return true
	})
	return to.Interface()
}

func write(w io.Writer, m proto.Message) error {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// An encoder writes objects in the wire format of protocol buffers. Its writer keeps errors.
type encoder struct {
	out *bufio.Writer
	// sizes are the sizes of the objects and lists, by their pointers.
	sizes map[any]int
}

// nested returns the size of a field with a message of this size. The number of the field is
// less than 16.
func nested(size int) int { return 1 + protowire.SizeBytes(size) }

// begin begins a field with a message of this size.
func (e encoder) begin(field protowire.Number, size int) {
	b := protowire.AppendTag(e.out.AvailableBuffer(), field, protowire.BytesType)
	_, _ = e.out.Write(protowire.AppendVarint(b, uint64(size)))
}

// fields returns the size of an object.
func (e encoder) fields(s *structpb.Struct) int {
	if size, ok := e.sizes[s]; ok {
		return size
	}
	size := 0
	for key, v := range s.GetFields() {
		size += nested(nested(len(key)) + nested(e.value(v)))
	}
	e.sizes[s] = size
	return size
}

// elements returns the size of a list.
func (e encoder) elements(l *structpb.ListValue) int {
	if size, ok := e.sizes[l]; ok {
		return size
	}
	size := 0
	var last *structpb.Value
	each := 0
	for _, v := range l.GetValues() {
		if v != last {
			last, each = v, nested(e.value(v))
		}
		size += each
	}
	e.sizes[l] = size
	return size
}

// value returns the size of a value.
func (e encoder) value(v *structpb.Value) int {
	switch v.GetKind().(type) {
	case *structpb.Value_StructValue:
		return nested(e.fields(v.GetStructValue()))
	case *structpb.Value_ListValue:
		return nested(e.elements(v.GetListValue()))
	case *structpb.Value_NumberValue:
		return 1 + protowire.SizeFixed64()
	default:
		return proto.Size(v)
	}
}

// object writes an object. Maps are sorted by their keys.
func (e encoder) object(s *structpb.Struct) {
	for _, key := range slices.Sorted(maps.Keys(s.GetFields())) {
		v := s.GetFields()[key]
		size := e.value(v)
		e.begin(1, nested(len(key))+nested(size))
		e.begin(1, len(key))
		_, _ = e.out.WriteString(key)
		e.begin(2, size)
		e.write(v)
	}
}

// write writes a value.
func (e encoder) write(v *structpb.Value) {
	switch v.GetKind().(type) {
	case *structpb.Value_StructValue:
		e.begin(5, e.fields(v.GetStructValue()))
		e.object(v.GetStructValue())
	case *structpb.Value_ListValue:
		e.begin(6, e.elements(v.GetListValue()))
		e.list(v.GetListValue())
	default:
		_, _ = e.out.Write(appendScalar(e.out.AvailableBuffer(), v))
	}
}

func appendScalar(b []byte, v *structpb.Value) []byte {
	if n, ok := v.GetKind().(*structpb.Value_NumberValue); ok {
		return protowire.AppendFixed64(protowire.AppendTag(b, 2, protowire.Fixed64Type), math.Float64bits(n.NumberValue))
	}
	b, _ = proto.MarshalOptions{}.MarshalAppend(b, v) // newStruct has checked its text
	return b
}

// list writes a list. It encodes successive values that share memory once.
func (e encoder) list(l *structpb.ListValue) {
	var last *structpb.Value
	var encoded []byte
	for _, v := range l.GetValues() {
		switch v.GetKind().(type) {
		case *structpb.Value_StructValue, *structpb.Value_ListValue:
			e.begin(1, e.value(v))
			e.write(v)
			continue
		}
		if v != last {
			last = v
			encoded = protowire.AppendTag(encoded[:0], 1, protowire.BytesType)
			encoded = appendScalar(protowire.AppendVarint(encoded, uint64(e.value(v))), v)
		}
		_, _ = e.out.Write(encoded)
	}
}
