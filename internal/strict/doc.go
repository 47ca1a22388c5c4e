// Package strict decodes the values of a YAML or JSON document into Go structs,
// takes nothing that these do not know, and describes the same structs as a JSON
// Schema, so that both always agree.
//
// Struct tags say how a field is written:
//
//	json:"name"    its key; a field without it, or with "-", is not written
//	doc:"text"     what the schema says about it
//	enum:"a,b"     the strings that it may be
//	required:""    an object without it is refused
//	short:""       a value of its struct that is no object is this field's alone
//	single:""      a value that is no list is a list of that one
//	whole:"a,b"    an object that has one of these keys is this field's value, as
//	               any object is if there are none
//
// A type that is an encoding.TextUnmarshaler takes strings, and the texts of
// other scalars.
package strict
