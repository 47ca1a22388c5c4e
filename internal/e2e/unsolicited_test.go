package e2e_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xfn-dev/xfn/internal/e2e"
)

// TestUnsolicited: unsolicited responses of a registry, such as the user's own
// credentials, are not printed.
func TestUnsolicited(t *testing.T) {
	t.Parallel()
	const basic = "Z29sZDpzM2NyZXQ=" // The base64 form of gold:s3cret.
	host := unsolicited(t)
	home := t.TempDir()
	auth := `{"auths": {"` + host + `": {"auth": "` + basic + `"}}}`
	e2e.WriteFile(t, filepath.Join(home, "config.json"), auth)
	for range 10 { // net/http reads the unsolicited response only in some runs.
		cmd := e2e.Command(t, "xpkg", "pull", host+"/a/b:v1", "--verbose", "--retry", "0")
		cmd.Dir = home
		cmd.Env = append(os.Environ(), "HOME="+home, "DOCKER_CONFIG="+home)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "credentials of") {
			t.Fatalf("the pull did not fail with these credentials: %s", out)
		}
		if strings.Contains(string(out), basic) || strings.Contains(string(out), "HTTP") {
			t.Fatalf("the output has text from the registry: %s", out)
		}
	}
}

// unsolicited starts a registry that sends the credentials after each response.
func unsolicited(t *testing.T) string {
	t.Helper()
	l := e2e.Open((&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0"))(t)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
	return l.Addr().String()
}

func answer(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		status := "404 Not Found"
		switch {
		case r.URL.Path == "/v2/":
			status = "401 Unauthorized\r\nWWW-Authenticate: Basic realm=x"
		case r.Header.Get("Authorization") != "":
			status = "200 OK"
		}
		_, err = conn.Write([]byte("HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 " + r.Header.Get("Authorization")))
		if err != nil {
			return
		}
	}
}
