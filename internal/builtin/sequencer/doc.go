// Package sequencer is the builtin function-sequencer. It delays the creation of resources
// until others are ready, and creates Usages that order their deletion.
package sequencer
