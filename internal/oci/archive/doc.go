// Package archive reads and writes images as one tar file. What it writes is
// an OCI image layout (image-spec, image-layout.md) and a Docker archive
// (docker save) at once; it reads either form, and a layout in a folder too.
package archive
