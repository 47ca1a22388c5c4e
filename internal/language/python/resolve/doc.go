// Package resolve reads the lock files of a Python project and selects the wheels for one
// target. It implements the PyPA specifications of versions and version specifiers (PEP
// 440), dependency specifiers and markers (PEP 508), wheel names and compatibility tags
// (PEP 425, 427, 600, 656), and the lock files uv.lock, pylock.toml (PEP 751) and
// requirements.txt. It has no effects.
package resolve
