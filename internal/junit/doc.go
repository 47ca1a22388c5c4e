// Package junit writes test reports as the XML that CI systems read by the name
// of JUnit: the part of it that Jenkins, GitLab and GitHub's actions agree on.
package junit
