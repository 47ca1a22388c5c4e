// Package patchandtransform is the builtin function-patch-and-transform: it
// makes composed resources out of templates, and moves values between them, the
// composite resource and the environment by patches. Its rules are those of the
// real function, oddities included, pinned by golden cases: what it renders is
// what a control plane will do.
//
// An input is decoded, validated and compiled once; running it only reads the
// result.
package patchandtransform
