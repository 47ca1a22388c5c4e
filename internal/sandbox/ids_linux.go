package sandbox

// MapsIDs reports whether this process may give a sandbox ids that are not its
// own: 65536 of them from [Spec.HostID] on. Who unpacks a root gives its files
// to these ids.
func MapsIDs() bool { return mayMapIDs() }
