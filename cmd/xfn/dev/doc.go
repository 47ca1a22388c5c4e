// Package dev is the command that works beside an editor.
package dev
