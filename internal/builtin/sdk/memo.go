package sdk

import "sync"

// most limits the values of a Memo. It is larger than the steps of a pipeline.
const most = 256

// A Memo caches a value for each key, for all composite resources of a render.
// The zero value is empty. It is safe for concurrent use.
type Memo[K comparable, V any] struct {
	mu     sync.Mutex
	values map[K]func() (V, error)
}

// Get returns the value for key. It calls compute if there is none; concurrent
// calls for one key wait for the first.
func (m *Memo[K, V]) Get(key K, compute func() (V, error)) (V, error) {
	return m.entry(key, compute)()
}

func (m *Memo[K, V]) entry(key K, compute func() (V, error)) func() (V, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.values[key]; ok {
		return v
	}
	if m.values == nil || len(m.values) >= most {
		m.values = map[K]func() (V, error){}
	}
	v := sync.OnceValues(compute)
	m.values[key] = v
	return v
}
