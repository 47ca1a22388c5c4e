package push

import (
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/xfn-dev/xfn/internal/progress"
)

// A meter passes on what go-containerregistry tells about an upload.
type meter struct {
	updates chan v1.Update

	text    string
	report  progress.Func
	last    v1.Update
	pushed  chan struct{}
	stopped chan struct{}
}

// watch starts a meter. It has to be stopped, after the push returned.
func watch(text string, total int64, report progress.Func) *meter {
	m := &meter{
		updates: make(chan v1.Update, 64),
		text:    text,
		report:  report,
		last:    v1.Update{Total: total},
		pushed:  make(chan struct{}),
		stopped: make(chan struct{}),
	}
	go m.run()
	return m
}

func (m *meter) run() {
	defer close(m.stopped)
	for {
		select {
		case u, open := <-m.updates:
			if !open {
				return
			}
			if u.Error == nil {
				m.send(u.Complete, max(m.last.Total, u.Total))
			}
		case <-m.pushed:
			return
		}
	}
}

func (m *meter) send(done, total int64) {
	m.last = v1.Update{Complete: done, Total: total}
	m.report.Send(progress.Event{Kind: progress.Bytes, Text: m.text, Done: done, Total: total})
}

// stop ends the meter; done says that all is in the registry.
func (m *meter) stop(done bool) {
	close(m.pushed)
	<-m.stopped
	if done {
		m.send(m.last.Total, m.last.Total)
	}
}
