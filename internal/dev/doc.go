// Package dev is the loop of somebody who writes a function or a Composition: it
// watches what a render and its tests are made from, and does again what a change
// is about. Functions run on from round to round, and only what has changed
// starts anew.
//
// The flow is one of values: changes of files become a Plan, doing that a Round,
// and this a text.
package dev
