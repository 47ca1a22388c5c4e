package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/sigstore/sigstore/pkg/tuf"
	gotuf "github.com/theupdateframework/go-tuf"
)

// trust makes the certificate in root the only authority of keyless signatures. The
// validator reads authorities only from a TUF repository, so trust creates one in dir, with
// new keys, and initializes the TUF client with it.
func trust(ctx context.Context, root, dir string) error {
	text, err := os.ReadFile(root)
	if err != nil {
		return err
	}
	for _, variable := range []string{"TUF_ROOT", "HOME"} { // The client must not find another repository.
		if err := os.Setenv(variable, filepath.Join(dir, "client")); err != nil {
			return err
		}
	}
	if err := publish(filepath.Join(dir, "mirror"), text); err != nil {
		return fmt.Errorf("creating a TUF repository: %w", err)
	}
	meta, err := os.ReadFile(filepath.Join(dir, "mirror", "repository", "root.json"))
	if err != nil {
		return err
	}
	return tuf.Initialize(ctx, "file://"+filepath.Join(dir, "mirror", "repository"), meta)
}

// publish creates a TUF repository with one target, a certificate.
func publish(dir string, certificate []byte) error {
	const target = "fulcio.crt.pem"
	staged := filepath.Join(dir, "staged", "targets")
	if err := os.MkdirAll(staged, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(staged, target), certificate, 0o600); err != nil {
		return err
	}
	repo, err := gotuf.NewRepo(gotuf.FileSystemStore(dir, nil))
	if err != nil {
		return err
	}
	if err := repo.Init(false); err != nil {
		return err
	}
	for _, role := range []string{"root", "targets", "snapshot", "timestamp"} {
		if _, err := repo.GenKey(role); err != nil {
			return err
		}
	}
	usage := json.RawMessage(`{"sigstore":{"usage":"Fulcio","status":"Active"}}`)
	if err := repo.AddTarget(target, usage); err != nil {
		return err
	}
	for _, write := range []func() error{repo.Snapshot, repo.Timestamp, repo.Commit} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}
