// Package spdx writes software bills of materials in SPDX 2.3 (JSON). It imports only the standard
// library and a library of UUIDs, so that the program in tools/release can import it.
package spdx
