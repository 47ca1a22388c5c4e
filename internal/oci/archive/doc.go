// Package archive reads and writes images as one tar file. A file that it writes is both an
// OCI image layout (image-spec, image-layout.md) and a Docker archive (docker save). It
// reads files of either format, and OCI image layouts in folders.
package archive
