package sdk

import "sync"

// most is how many values a Memo keeps: more than the steps of any pipeline.
const most = 256

// A Memo keeps what was made of a key, so that it is made once for all composite
// resources of a render. The zero value is empty. It is safe for concurrent use.
type Memo[K comparable, V any] struct {
	mu   sync.Mutex
	made map[K]func() (V, error)
}

// Get returns what there is for key, or what make makes for it. Those who ask at
// the same time wait for the first.
func (m *Memo[K, V]) Get(key K, make func() (V, error)) (V, error) {
	return m.entry(key, make)()
}

func (m *Memo[K, V]) entry(key K, make func() (V, error)) func() (V, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if v, ok := m.made[key]; ok {
		return v
	}
	if m.made == nil || len(m.made) >= most {
		m.made = map[K]func() (V, error){}
	}
	v := sync.OnceValues(make)
	m.made[key] = v
	return v
}
