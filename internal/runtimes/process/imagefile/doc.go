// Package imagefile takes one file out of an image without unpacking the rest:
// the topmost layer that has it wins (OCI image spec, "Image Layer Filesystem
// Changeset"), links are followed within the image, and nothing of a hostile
// image takes more than a bounded effort.
package imagefile
