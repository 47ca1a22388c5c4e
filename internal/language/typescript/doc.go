// Package typescript builds runtime images of functions in TypeScript and JavaScript. It
// needs neither Node.js nor npm.
package typescript
