// Package keep lets functions outlive the sessions that start them: a session
// that is over gives its functions back, and the next one finds them running.
package keep
