// Package archive reads and writes images as one tar file. A written file is both an
// OCI image layout (image-spec, image-layout.md) and a Docker archive (docker save). It
// reads either form, and a layout in a folder.
package archive
