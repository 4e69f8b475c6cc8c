package jobs

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"afterimage/records"
)

// Task does one job whose outcome is nothing but its own: nil is done, an
// error is a failure that counts, to be tried again after the kind's backoff,
// and RetryAfter, Wait and Discard say it differently. A task reads anew what
// it is about, and does nothing if that has moved on: it may run twice, or late.
type Task func(ctx context.Context, job records.Job) error

// outcome is an error that says more than that it failed.
type outcome struct {
	err     error
	verdict records.Verdict
	after   time.Duration
}

func (o *outcome) Error() string { return o.err.Error() }
func (o *outcome) Unwrap() error { return o.err }

// RetryAfter is a failure that counts and is tried again after d.
func RetryAfter(d time.Duration, err error) error {
	return &outcome{err: err, verdict: records.Retry, after: d}
}

// Wait says that it is too early: again after d, which is no failure. Why is
// for people who look at the queue.
func Wait(d time.Duration, why string) error {
	return &outcome{err: errors.New(why), verdict: records.Defer, after: d}
}

// Discard gives the job up at once, since trying again cannot help.
func Discard(err error) error { return &outcome{err: err, verdict: records.Discard} }

const (
	// defaultAttempts is after how many failures a job is given up.
	defaultAttempts = 5
	// defaultTimeout is how long one run of a task may take.
	defaultTimeout = 10 * time.Minute
)

// Doubling is a backoff of first · 2^n, at most most.
func Doubling(first, most time.Duration) func(failures int) time.Duration {
	return func(failures int) time.Duration { return min(first<<min(failures, 20), most) }
}

// standard is the backoff of kinds that name none: 30 s · 2^n.
var standard = Doubling(30*time.Second, 24*time.Hour)

// runTask is the handler of a kind that has a task.
func (p *pump) runTask(ctx context.Context, j records.Job) records.Settlement {
	limited, cancel := context.WithTimeout(ctx, p.kind.Timeout)
	defer cancel()
	err := p.kind.Do(limited, j)
	switch {
	case err == nil:
		return records.Settlement{Verdict: records.Complete}
	case ctx.Err() != nil: // we stop, or the claim is lost
		return records.Settlement{Verdict: records.Release}
	case limited.Err() != nil:
		err = fmt.Errorf("took longer than %v: %w", p.kind.Timeout, err)
	}
	s := p.kind.failure(p.w.DB.Now(), j, err)
	if o, ok := errors.AsType[*outcome](err); ok && o.verdict == records.Defer {
		return s // not worth a line
	}
	p.log(j).Warn("a job failed", "attempt", j.Attempt+1, "given_up", s.Verdict == records.Discard, "err", err)
	return s
}

// failure settles a job that failed, as its kind and its error say.
func (k *Kind) failure(now records.Time, j records.Job, err error) records.Settlement {
	s := records.Settlement{Verdict: records.Retry, RunAt: now.Add(k.Backoff(j.Attempt)), Error: err.Error()}
	if o, ok := errors.AsType[*outcome](err); ok {
		s.Verdict = o.verdict
		if o.after > 0 {
			s.RunAt = now.Add(o.after)
		}
	}
	if s.Verdict == records.Retry && j.Attempt >= k.Attempts-1 {
		s.Verdict = records.Discard
	}
	return s
}

// panicPlace is the line that panicked, as "folder/file.go:12". Call it where
// the panic is recovered.
func panicPlace() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	for panicked := false; ; {
		f, more := frames.Next()
		switch inRuntime := strings.HasPrefix(f.Function, "runtime."); {
		case f.Function == "runtime.gopanic":
			panicked = true
		case panicked && !inRuntime:
			file := filepath.ToSlash(f.File)
			return fmt.Sprintf("%s:%d", path.Join(path.Base(path.Dir(file)), path.Base(file)), f.Line)
		}
		if !more {
			return "an unknown place"
		}
	}
}
