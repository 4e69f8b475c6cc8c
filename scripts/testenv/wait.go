package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"syscall"
	"time"
)

const (
	waitAtMost = 20 * time.Second
	waitStep   = 20 * time.Millisecond
)

// waitFor returns once url answers 200 while the process still lives, and fails when the process ends first.
func waitFor(pid, url, caFile string) error {
	id, err := strconv.Atoi(pid)
	if err != nil || id <= 0 {
		return fmt.Errorf("%q is not a process id", pid)
	}
	client, err := newClient(caFile)
	if err != nil {
		return err
	}
	for end := time.Now().Add(waitAtMost); time.Now().Before(end); time.Sleep(waitStep) {
		answers := healthy(client, url)
		// After the answer, not before: a server that lost its port to another one ends right at its start.
		if err := syscall.Kill(id, 0); err != nil {
			return fmt.Errorf("process %d ended", id)
		}
		if answers {
			return nil
		}
	}
	return fmt.Errorf("no answer within %s", waitAtMost)
}

func newClient(caFile string) (*http.Client, error) {
	transport := &http.Transport{DisableKeepAlives: true}
	if caFile != "" {
		pem, err := os.ReadFile(caFile)
		if err != nil {
			return nil, fmt.Errorf("read the root certificate: %w", err)
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, errors.New("no certificate in " + caFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots}
	}
	return &http.Client{Transport: transport, Timeout: 2 * time.Second}, nil
}

func healthy(client *http.Client, url string) bool {
	answer, err := client.Get(url)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}
