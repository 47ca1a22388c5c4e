// Package patchandtransform is the builtin function-patch-and-transform. It
// composes resources from templates, and patches values between them, the
// composite resource and the environment. It has the rules of the real function,
// including unexpected ones. Golden cases check them.
package patchandtransform
