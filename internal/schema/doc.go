// Package schema applies what a CompositeResourceDefinition says about objects:
// the defaults of its OpenAPI schema.
package schema
