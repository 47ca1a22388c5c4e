// Package environmentconfigs is the builtin function-environment-configs. It merges the data of
// EnvironmentConfigs into the environment in the context, which later functions read.
package environmentconfigs
