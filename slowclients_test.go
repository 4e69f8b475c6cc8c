package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"afterimage/records"
)

// Many people on slow lines who look at the same large image must not cost its
// size each: 500 times 60 MB would be 30 GB.
func TestManySlowClientsOfALargeImage(t *testing.T) {
	if os.Getenv("TEST_LONG") == "" {
		t.Skip("500 slow clients of a 60 MB image are left out: TEST_LONG is not set (make test-long)")
	}
	const clients, limit = 500, 150 << 20
	binary := filepath.Join(t.TempDir(), "afterimage") // without the race detector, which takes much memory
	build := exec.CommandContext(t.Context(), "go", "build", "-race=false", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for store, settings := range map[string]func(*testing.T) []string{
		"disk":     func(*testing.T) []string { return nil },
		"s3":       func(t *testing.T) []string { return bucket(t, "TEST_S3_ENDPOINT") },
		"s3-https": func(t *testing.T) []string { return bucket(t, "TEST_S3_ENDPOINT_TLS") },
	} {
		t.Run(store, func(t *testing.T) {
			env := append(testEnviron(t.TempDir()), settings(t)...)
			i := keepLarge(t, env, largePNG(t, 60e6))
			r := startBinary(t, binary, env) // anew: its memory is that of serving alone
			if got := sha256.Sum256(r.bytes(r.url + "/img/" + i.ID)); fmt.Sprintf("%x", got) != i.SHA256 {
				t.Fatal("other bytes came")
			}
			idle := r.memory("VmRSS")

			var everybody, done sync.WaitGroup
			everybody.Add(clients)
			for n := range clients {
				done.Go(func() { watchSlowly(t, r, i, n < 5, &everybody) })
			}
			done.Wait()
			total := r.memory("VmHWM")
			t.Logf("%d clients: %d MB at most, %d MB before", clients, total>>20, idle>>20)
			if total > limit {
				t.Errorf("%d MB, want at most %d", total>>20, limit>>20)
			}
		})
	}
}

// watchSlowly begins to read an image and goes on only when everybody has begun;
// most go away then, and some read it all.
func watchSlowly(t *testing.T, r *running, i image, all bool, everybody *sync.WaitGroup) {
	begun := sync.OnceFunc(everybody.Done)
	defer begun()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	if !all {
		_ = conn.(*net.TCPConn).SetReadBuffer(16 << 10)
	}
	fmt.Fprintf(conn, "GET /img/%s HTTP/1.1\r\nHost: site\r\n\r\n", i.ID)
	resp, err := nethttp.ReadResponse(bufio.NewReaderSize(conn, 4<<10), nil)
	if err != nil || resp.StatusCode != nethttp.StatusOK {
		t.Errorf("%v %v", resp, err)
		return
	}
	sum := sha256.New()
	if _, err := io.CopyN(sum, resp.Body, 512<<10); err != nil {
		t.Error(err)
	}
	begun()
	everybody.Wait()
	if !all {
		return
	}
	if _, err := io.Copy(sum, resp.Body); err != nil || fmt.Sprintf("%x", sum.Sum(nil)) != i.SHA256 {
		t.Errorf("the whole image is not what was kept: %v", err)
	}
}

// keepLarge has an image archived by a process that ends then.
func keepLarge(t *testing.T, env []string, picture []byte) image {
	t.Helper()
	source := httptest.NewServer(nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) { _, _ = w.Write(picture) }))
	defer source.Close()
	c := startProcess(t, slices.Concat(env, []string{"IMAGE_ARCHIVE_ALLOW=" + source.Listener.Addr().String()})).client()
	var imported struct{ Items []image }
	c.call("POST", "/api/v1/images/import", map[string]any{"items": []map[string]string{{"url": source.URL + "/" + records.NewID() + ".png"}}}, 202, &imported)
	i := c.follow([]string{imported.Items[0].ID})[imported.Items[0].ID]
	if i.Status != "archived" || i.Bytes != int64(len(picture)) {
		t.Fatalf("it is %+v\n%s", i, c.out)
	}
	c.stop()
	return i
}

// largePNG is a small picture with a chunk of its own that makes it large.
func largePNG(t *testing.T, size int) []byte {
	t.Helper()
	small := smallPNG(t)
	const header = 8 + 25 // signature, IHDR
	chunk := append([]byte("prVt"), bytes.Repeat([]byte("large "), size/6)...)
	var b bytes.Buffer
	b.Write(small[:header])
	_ = binary.Write(&b, binary.BigEndian, uint32(len(chunk)-4))
	b.Write(chunk)
	_ = binary.Write(&b, binary.BigEndian, crc32.ChecksumIEEE(chunk))
	b.Write(small[header:])
	return b.Bytes()
}

// memory reads a value of the process's status in bytes: VmRSS is what it has in
// memory now, VmHWM the most that it ever had.
func (r *running) memory(name string) int64 {
	r.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.process.Pid))
	if err != nil {
		r.t.Skip("memory is not measured: there is no /proc")
	}
	_, rest, _ := strings.Cut(string(status), name+":")
	var kb int64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		r.t.Fatal(err)
	}
	return kb << 10
}
