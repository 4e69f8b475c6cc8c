package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"afterimage/records"
)

// heldImages are in the middle of their transfer when their process is
// stopped; it has a slot for each.
const heldImages = 4

// overlap is how long two instances run side by side before one dies: an
// instance that has just started takes nothing over.
const overlap = 5 * time.Second

// crashSame is the row of a process that is killed and started again at once.
func crashSame(ctx context.Context, b *bench) error {
	return b.crash(ctx, "SIGKILL → resumed by the same instance restarted, s", 2, true, func(w *crashWorld) error {
		if err := w.first.kill(); err != nil {
			return err
		}
		var err error
		w.second, err = w.start(ctx, w.first.dir)
		return err
	})
}

// crashOther is the row of a process that is killed while another one runs.
func crashOther(ctx context.Context, b *bench) error {
	return b.crash(ctx, "SIGKILL → resumed by another instance, s", 5, false, func(w *crashWorld) error { return w.first.kill() })
}

// crashFrozen is the row of a process that is frozen while another one runs.
func crashFrozen(ctx context.Context, b *bench) error {
	return b.crash(ctx, "SIGSTOP → taken over, s", 35, false, func(w *crashWorld) error {
		return w.first.cmd.Process.Signal(syscall.SIGSTOP)
	})
}

// crash measures how long it takes from strike until all images are archived
// that the first instance held. Unless it is alone, a second instance runs
// beside it.
func (b *bench) crash(ctx context.Context, what string, reach float64, alone bool, strike func(*crashWorld) error) error {
	if err := b.build(ctx); err != nil {
		return err
	}
	var took []float64
	for range b.Runs {
		d, err := b.crashOnce(ctx, alone, strike)
		if err != nil {
			return err
		}
		took = append(took, d.Seconds())
	}
	peer, err := b.peerCrash(ctx, alone)
	b.table.add(line{what: what, base: "–", ours: number(median(took)) + " s",
		figures: []figure{{value: median(took), reach: reach}}, tuned: peer})
	return err
}

// peerCrash lets the peer be killed, with a rescue after 10 s; as shipped it
// waits an hour.
func (b *bench) peerCrash(ctx context.Context, alone bool) (string, error) {
	if !alone {
		return "", nil
	}
	r, ran, err := b.newPeer(8).run(ctx, "-mode", "crash", "-n", "8", "-rescue-after", "10s", "-retry", "1s")
	if err != nil || !ran {
		return "", err
	}
	return number(r.Recovery) + " s", nil
}

// build builds the app if no binary is given.
func (b *bench) build(ctx context.Context) error {
	if b.Binary != "" {
		return nil
	}
	path := filepath.Join(b.dir, "afterimage")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("build the app: %w: %s", err, out)
	}
	b.Binary = path
	return nil
}

// crashWorld is a database and the instances on it.
type crashWorld struct {
	*bench
	db            *records.DB
	database      string
	person        string
	first, second *instance
}

func (b *bench) crashOnce(ctx context.Context, alone bool, strike func(*crashWorld) error) (time.Duration, error) {
	db, config, person, drop, err := b.newRecords(ctx, 4)
	if err != nil {
		return 0, err
	}
	defer drop()
	w := &crashWorld{bench: b, db: db, database: config.URL, person: person}
	defer func() {
		w.first.kill()
		w.second.kill()
	}()
	if err := w.hang(ctx); err != nil {
		return 0, err
	}
	if !alone {
		if w.second, err = w.start(ctx, ""); err != nil {
			return 0, err
		}
		wait(ctx, overlap)
	}
	struck := time.Now()
	if err := strike(w); err != nil {
		return 0, err
	}
	if err := archivedAll(ctx, db, person, heldImages, 2*time.Minute); err != nil {
		return 0, err
	}
	return time.Since(struck), nil
}

// hang starts the first instance and has it wait for the source with all
// images.
func (w *crashWorld) hang(ctx context.Context) (err error) {
	if w.first, err = w.start(ctx, ""); err != nil {
		return err
	}
	run := int(time.Now().UnixNano() / heldImages) // names that no run before has used
	var urls []string
	for n := range heldImages {
		urls = append(urls, w.source.url(run*heldImages+n, small)+"&hang=1")
	}
	if _, err := insert(ctx, w.db, w.person, urls); err != nil {
		return err
	}
	for ctx.Err() == nil {
		n, err := w.source.hanging(ctx)
		if err != nil || n == heldImages {
			return err
		}
		wait(ctx, look)
	}
	return context.Cause(ctx)
}

// instance is the real app as a process.
type instance struct {
	cmd *exec.Cmd
	dir string
}

// start starts the app in a folder, a new one if it is empty, and waits until
// it says that it is ready.
func (w *crashWorld) start(ctx context.Context, dir string) (*instance, error) {
	if dir == "" {
		var err error
		if dir, err = w.newFolder(); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, w.Binary)
	cmd.Env = append(os.Environ(),
		"AFTERIMAGE_LISTEN=127.0.0.1:0", "AFTERIMAGE_DATA_DIR="+dir, "DATABASE_URL="+w.database,
		"S3_BUCKET="+w.s3.Bucket, "S3_ENDPOINT="+w.s3.Endpoint, "S3_REGION="+w.s3.Region, "S3_PATH_STYLE=true",
		"S3_ACCESS_KEY_ID="+w.s3.AccessKeyID, "S3_SECRET_ACCESS_KEY="+w.s3.SecretAccessKey,
		"IMAGE_ARCHIVE_ALLOW="+w.source.allowed(), "IMAGE_ARCHIVE_CONCURRENCY="+strconv.Itoa(heldImages))
	log, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the app: %w", err)
	}
	i := &instance{cmd: cmd, dir: dir}
	if err := awaitLine(log, "afterimage is ready"); err != nil {
		i.kill()
		return nil, err
	}
	return i, nil
}

// awaitLine reads a log up to a line and lets go of what follows.
func awaitLine(log io.Reader, text string) error {
	lines := bufio.NewScanner(log)
	var last string
	for lines.Scan() {
		if last = lines.Text(); strings.Contains(last, text) {
			go io.Copy(io.Discard, log)
			return nil
		}
	}
	return fmt.Errorf("the app ended: %s", last)
}

// kill ends the process with SIGKILL; a second time does no harm.
func (i *instance) kill() error {
	if i == nil || i.cmd.ProcessState != nil {
		return nil
	}
	if err := i.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	i.cmd.Wait()
	return nil
}
