package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"afterimage/records"
)

// memorySlots are the slots of the rows that measure memory.
const memorySlots = 64

// settle is how long a process is left alone before its memory counts as
// idle.
const settle = 2 * time.Second

// memory is the row of how much more memory a process of 64 slots takes at its
// peak than idle.
func memory(size int, reach float64) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		images := b.Large
		if size < large {
			images *= 10
		}
		var idle, over []float64
		for range b.Runs {
			i, o, err := b.memoryOnce(ctx, size, images)
			if err != nil {
				return err
			}
			idle, over = append(idle, i), append(over, o)
			if err := b.emptyBucket(ctx); err != nil {
				return err
			}
		}
		b.table.add(line{
			what:    fmt.Sprintf("memory over idle in MB, %d slots × %s", memorySlots, sizeName(size)),
			base:    number(median(idle)) + " MB idle",
			ours:    number(median(idle)+median(over)) + " MB",
			figures: []figure{{value: median(over), reach: reach}},
		})
		return nil
	}
}

// memoryOnce archives images in a process that does nothing else.
func (b *bench) memoryOnce(ctx context.Context, size, images int) (idle, over float64, err error) {
	db, config, person, drop, err := b.newRecords(ctx, 2)
	if err != nil {
		return 0, 0, err
	}
	defer drop()
	c := b.product(memorySlots)
	c.Database = config.URL
	if c.Dir, err = b.newFolder(); err != nil {
		return 0, 0, err
	}
	child, err := startChild(ctx, c)
	if err != nil {
		return 0, 0, err
	}
	defer child.stop()
	wait(ctx, settle)
	if idle, err = child.memory("VmRSS"); err != nil {
		return 0, 0, err
	}
	if _, err := insert(ctx, db, person, b.urls(images, size)); err != nil {
		return 0, 0, err
	}
	if err := archivedAll(ctx, db, person, images, time.Duration(images)*4*time.Second+silence); err != nil {
		return 0, 0, err
	}
	peak, err := child.memory("VmHWM")
	return idle, peak - idle, err
}

// productChild runs a product alone until in closes.
func productChild(ctx context.Context, in io.Reader, out io.Writer) error {
	line := bufio.NewReader(in)
	text, err := line.ReadBytes('\n')
	if err != nil {
		return err
	}
	var c productConfig
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	p, err := newProduct(ctx, c)
	if err != nil {
		return err
	}
	if err := p.begin(ctx); err != nil {
		return err
	}
	defer p.end()
	fmt.Fprintln(out, "ready")
	io.Copy(io.Discard, line)
	return nil
}

// child is a product in a process of its own.
type child struct {
	pid  int
	stop func()
}

func startChild(ctx context.Context, c productConfig) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-child", "product")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the product: %w", err)
	}
	p := &child{pid: cmd.Process.Pid, stop: func() { in.Close(); cmd.Wait() }}
	if err = json.NewEncoder(in).Encode(c); err == nil {
		_, err = bufio.NewReader(out).ReadString('\n')
	}
	if err != nil {
		p.stop()
		return nil, fmt.Errorf("start the product: %w", err)
	}
	return p, nil
}

// memory reads a value of the process's status in MB: VmRSS is what it has in
// memory now, VmHWM the most it ever had.
func (c *child) memory(name string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
	if err != nil {
		return 0, fmt.Errorf("read a process's memory, which only Linux tells: %w", err)
	}
	for l := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(l, name+":"); found {
			kib, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kib * 1024 / 1e6, err
		}
	}
	return 0, errors.New("the process's status has no " + name)
}

// look is how often the database is asked whether all is done.
const look = 10 * time.Millisecond

// archivedAll waits until a person has that many archived images.
func archivedAll(ctx context.Context, db *records.DB, person string, n int, within time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("not all images were archived within %s", within))
	defer cancel()
	for {
		counts, err := db.CountImages(ctx, person, records.ImageFilter{})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		case counts[records.ArchiveFailed] > 0:
			return errors.New("an image could not be archived")
		case counts[records.Archived] >= n:
			return nil
		}
		wait(ctx, look)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
