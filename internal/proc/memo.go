package proc

import "sync"

// maxMemo limits the values of a Memo.
const maxMemo = 1000

// A Memo computes values once for each key, and keeps the values of at most 1000
// keys. Callers share the values, so they must not change them. The zero value is
// ready to use, by several goroutines at once.
type Memo[K comparable, V any] struct {
	mu   sync.Mutex
	kept map[K]func() (V, error)
}

// Do returns the result of compute for the key. Concurrent callers with the same
// key wait for one result, an error included.
func (m *Memo[K, V]) Do(key K, compute func() (V, error)) (V, error) {
	m.mu.Lock()
	once, ok := m.kept[key]
	if !ok {
		if m.kept == nil || len(m.kept) >= maxMemo {
			m.kept = map[K]func() (V, error){}
		}
		once = sync.OnceValues(compute)
		m.kept[key] = once
	}
	m.mu.Unlock()
	return once()
}
