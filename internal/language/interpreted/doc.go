// Package interpreted builds functions in languages that an existing function interprets:
// go-templating and KCL. It adds the folder with the source to the image of that function.
package interpreted
