// Package wheel turns untrusted wheels (PEP 427) into the files of an installation, without
// running code. It installs into a folder of an image, and does not write to the file system.
package wheel
