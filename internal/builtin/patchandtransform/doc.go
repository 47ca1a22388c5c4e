// Package patchandtransform is the builtin function-patch-and-transform. It
// composes resources from templates, and patches values between them, the
// composite resource and the environment. Its rules are those of the real
// function, including its unexpected ones; golden cases check them.
package patchandtransform
