package generate

import (
	"context"
	"errors"
	"slices"
	"time"

	"afterimage/records"
)

const (
	// pollFirst is the pause after the first question about a task. It doubles
	// with every third one, up to pollMost.
	pollFirst = time.Second
	pollMost  = 5 * time.Second
	// pollTime bounds one question.
	pollTime = time.Minute
	// cancelTime bounds the asking to stop.
	cancelTime = 15 * time.Second
)

// task is the name under which the provider knows a call; empty: it does not.
func (c *call) task(one records.Call) Task {
	_, can := c.provider.(Tasker)
	switch {
	case !can || one.Done:
		return ""
	case one.Task == "" && c.info.NamesTasks:
		return Task(one.ID)
	}
	return Task(one.Task)
}

// openTask reports that the current call goes on without us.
func (c *call) openTask() bool {
	one := c.current()
	return one != nil && c.task(*one) != ""
}

// accepted records the provider's name for the call before anything else is
// done with it.
func (c *call) accepted(ctx context.Context, task Task) error {
	c.current().Task = string(task)
	err := c.insist(ctx, "a provider's task could not be recorded", func() error {
		return c.DB.SaveCalls(ctx, c.job.Fence(), c.generation.ID, c.generation.Calls)
	})
	if err != nil {
		return err
	}
	return c.follow(ctx)
}

// resume goes on with the calls that a former run began. What cannot be asked
// about may have been made and charged: it is never asked for again.
func (c *call) resume(ctx context.Context) error {
	if c.bought() && len(c.generation.Calls) == 0 {
		return &Error{Reason: ReasonUnknownOutcome, Detail: "the process ended during the call"}
	}
	calls := c.generation.Calls
	for n := range calls {
		c.generation.Calls = calls[:n+1] // what follow takes for the current one
		err := c.resumeOne(ctx)
		c.generation.Calls = calls
		if err != nil && !c.isolate(ctx, err) {
			return err
		}
	}
	return nil
}

func (c *call) resumeOne(ctx context.Context) error {
	one := c.current()
	c.asked = nil
	for _, position := range one.Positions {
		if position >= 0 && position < len(c.images) {
			c.asked = append(c.asked, &c.images[position])
		}
	}
	missing := slices.ContainsFunc(c.asked, func(i *records.Image) bool { return i.Status == records.Generating })
	switch {
	case !missing:
		one.Done = true
		return nil
	case c.openTask():
		return c.follow(ctx)
	}
	one.Done = true // if it was, the process ended before it could tell how it failed
	if !c.info.Repeatable {
		c.failMissing(c.asked, &Error{Reason: ReasonUnknownOutcome, Detail: "the process ended during the call"})
	}
	return nil
}

// follow asks about the current call's task until it is done. Past the time
// limit its outcome is unknown, though it is asked about once more; it is not
// forgotten, see later.
func (c *call) follow(ctx context.Context) error {
	one := c.current()
	for polls, pause := 1, pollFirst; ; polls++ {
		done, err := c.poll(ctx, c.task(*one))
		e, said := errors.AsType[*Error](err)
		switch {
		case done && (err == nil || said):
			one.Done = true
			if err == nil {
				c.failMissing(c.asked, &Error{Reason: ReasonProviderError, Detail: "the provider gave fewer images than asked for"})
			}
			return err
		case said && !e.Retryable:
			one.Done = true
			return err
		case err != nil && !said:
			return err
		case c.DB.Now().After(one.At.Add(c.timeout()).Time):
			return c.overdue(e)
		}
		if polls%3 == 0 {
			pause = min(2*pause, pollMost)
		}
		wait := pause
		if said {
			wait = max(pause, min(e.RetryAfter, time.Minute))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}

// poll asks once. An answer that does not come is an Error that passes.
func (c *call) poll(ctx context.Context, task Task) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()
	done, err := c.provider.(Tasker).Poll(asking, task, func(o Output) error { return c.take(ctx, o) })
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return done, err
}

func (c *call) overdue(last *Error) *Error {
	e := &Error{Reason: ReasonUnknownOutcome, Detail: "the provider is still at it after " + c.timeout().String()}
	if last != nil {
		e.Detail = "the provider could not be asked how it is for " + c.timeout().String() + ": " + last.Error()
	}
	return e
}

// takeUpUnknown takes up images again whose outcome is unknown while the provider can
// still be asked. It reports whether there are any.
func (c *call) takeUpUnknown() bool {
	for n := range c.images {
		i := &c.images[n]
		one, ok := c.generation.Calls.Of(i.Position)
		if ok && i.Status == records.Unknown && c.task(one) != "" {
			i.Status, i.Reason = records.Generating, ""
			c.reopened = append(c.reopened, i)
		}
	}
	return len(c.reopened) > 0
}

// askUnknownAgain is the pause before the next question about an outcome that is
// unknown.
const askUnknownAgain = 5 * time.Minute

// askable reports that a task of unknown outcome can still be asked about.
func (c *call) askable() bool {
	return slices.ContainsFunc(c.generation.Calls, func(one records.Call) bool {
		return c.task(one) != "" && c.DB.Now().Before(one.At.Add(c.timeout()+c.info.TaskTTL).Time)
	})
}

// cancelTasks asks the provider to stop what is still going on for a
// generation that was called off.
func (c *call) cancelTasks(ctx context.Context, calls records.Calls) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	for _, one := range calls {
		task := c.task(one)
		if task == "" {
			continue
		}
		if err := c.provider.(Tasker).Cancel(ctx, task); err != nil {
			c.Log.Warn("a task that was called off goes on at its provider", "generation", c.generation.ID, "provider", c.info.Name, "err", err)
		}
	}
}

// calledOff tells the provider if the claim was lost because somebody
// canceled, and not because another process took over.
func (c *call) calledOff(ctx context.Context) {
	now, _, err := c.DB.GenerationWork(context.WithoutCancel(ctx), c.generation.ID)
	if errors.Is(err, records.ErrNotFound) || err == nil && (now.Status == records.GenerationCanceled || now.Status == records.GenerationSucceeded) {
		c.cancelTasks(ctx, c.generation.Calls)
	}
}
