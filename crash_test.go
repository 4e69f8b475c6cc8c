package main

import (
	"bytes"
	"fmt"
	goimage "image"
	"image/color"
	"image/png"
	"testing"
	"time"
)

// TestKilledInTheMiddle kills the process with SIGKILL while it archives 50
// images, and starts it again: all 50 are archived, none twice, and no attempt
// was counted against their source.
func TestKilledInTheMiddle(t *testing.T) {
	dir := t.TempDir()
	source := newSource(t)
	source.slow = make(chan struct{})
	env := append(testEnviron(dir, "IMAGE_ARCHIVE_CONCURRENCY=8"), source.allowed()...)
	first := startProcess(t, env)
	c := first.client()
	var items []map[string]any
	for n := range 50 {
		items = append(items, map[string]any{"url": source.url(fmt.Sprintf("/%d.png", n))})
	}
	var made struct{ Items []image }
	c.call("POST", "/api/v1/images/import", map[string]any{"items": items}, 202, &made)
	for range 10 { // some are kept, and others are in the middle
		source.slow <- struct{}{}
	}
	first.out.await(t, `msg="image archived"`, nil)
	first.kill()
	close(source.slow)

	second := startProcess(t, env)
	second.out.await(t, "work of a process that ended was taken up again", nil)
	again := &client{second, c.key}
	for id, i := range again.follow(ids(made.Items)) {
		if i.Status != "archived" || i.Archive.Attempt != 1 {
			t.Errorf("image %s is %s at attempt %d", id, i.Status, i.Archive.Attempt)
		}
	}
	if left := spooled(t, dir); len(left) > 0 {
		t.Errorf("the spool still has %v", left)
	}
	if code := second.stop(); code != exitDone {
		t.Errorf("exit code %d after a stop in good order", code)
	}
}

// TestTwoProcessesOnOneFolder is refused: each would take the other's spool
// for its own.
func TestTwoProcessesOnOneFolder(t *testing.T) {
	env := testEnviron(t.TempDir())
	start(t, env)
	var errs bytes.Buffer
	code := run(t.Context(), program{environ: env, out: &errs, err: &errs})
	if code != exitFailed || !bytes.Contains(errs.Bytes(), []byte("AFTERIMAGE_DATA_DIR")) {
		t.Errorf("exit code %d: %s", code, &errs)
	}
}

func smallPNG(t *testing.T) []byte {
	t.Helper()
	picture := goimage.NewRGBA(goimage.Rect(0, 0, 16, 9))
	picture.Set(3, 3, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestKilledWhileTheStoreIsSlow: the store has had the bytes for a while and
// has not answered when the process is killed and the source dies. They were
// secured meanwhile, so the next start needs nobody.
func TestKilledWhileTheStoreIsSlow(t *testing.T) {
	s := newSeveral(t)
	s.source.letGo()
	slow := newSlowStore(t, s.store)
	first := s.instance(slow.env...)
	s.imports(1)
	<-slow.uploading
	took := eventually(t, 20*time.Second, "the image says that it is secured", func() bool {
		return value[int](t, s.db, `SELECT count(*) FROM images WHERE spool_id <> '' AND status = 'archiving'`) == 1
	})
	if took < time.Second {
		t.Errorf("it was secured after %v, before the store had its time", took)
	}
	first.kill()
	s.source.Close()
	close(slow.goOn)
	startProcess(t, first.env)
	s.awaitArchived(1, 20*time.Second)
	if n := value[int](t, s.db, `SELECT count(*) FROM image_events WHERE kind = 'attempt_failed'`); n != 0 {
		t.Errorf("%d attempts failed", n)
	}
	if n := s.source.count(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
}
