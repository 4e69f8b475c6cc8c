package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A unit of Type=notify is started only when it says so, and killed when it
// says nothing: the real program has to say the right words.
func TestSystemdIsTold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("systemd is only on Linux")
	}
	socket := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	hear := func() string {
		t.Helper()
		b := make([]byte, 256)
		n, err := conn.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	p := startProcess(t, testEnviron(t.TempDir(), "NOTIFY_SOCKET="+socket, "WATCHDOG_USEC="+strconv.Itoa(200_000)))
	if got := hear(); got != "READY=1" {
		t.Errorf("the first word was %q", got)
	}
	for range 2 {
		if got := hear(); got != "WATCHDOG=1" {
			t.Errorf("instead of a sign of life came %q", got)
		}
	}
	stopped := make(chan int, 1)
	go func() { stopped <- p.stop() }()
	for {
		got := hear()
		if got == "STOPPING=1" {
			break
		}
		if got != "WATCHDOG=1" {
			t.Fatalf("the last word was %q", got)
		}
	}
	if code := <-stopped; code != exitDone {
		t.Errorf("exit code %d", code)
	}
}

func TestSupervisorIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want supervisor
	}{
		"nobody":                   {nil, supervisor{}},
		"systemd without watchdog": {map[string]string{"NOTIFY_SOCKET": "/run/x"}, supervisor{socket: "/run/x"}},
		"with one":                 {map[string]string{"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "2000000"}, supervisor{"@x", time.Second}},
		"one of another process":   {map[string]string{"NOTIFY_SOCKET": "@x", "WATCHDOG_USEC": "2000000", "WATCHDOG_PID": "1"}, supervisor{socket: "@x"}},
		"nonsense":                 {map[string]string{"WATCHDOG_USEC": "soon"}, supervisor{}},
	} {
		if got := findSupervisor(func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// The unit is read by systemd itself where there is one.
func TestSystemdUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here: the unit is not checked")
	}
	content, err := os.ReadFile("contrib/systemd/afterimage.service")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "afterimage.service")
	// It looks for the program that the unit starts.
	text := strings.ReplaceAll(string(content), "/usr/local/bin/afterimage", self)
	if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(analyze, "verify", unit).CombinedOutput()
	if err != nil || strings.Contains(string(out), "afterimage.service:") {
		t.Errorf("%v: %s", err, out)
	}
}
