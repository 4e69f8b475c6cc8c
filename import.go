package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"afterimage/records"
)

const importUse = `Use: afterimage import FILE|DIR|- [--user NAME] [--no-wait] [--json]
Keeps a list of images: addresses (one a line), CSV with a column url, JSON lines, a log of OpenAI-style answers, or an
export of ours (the folder or the zip). The same list again imports nothing twice. It waits until every image is kept or
has failed, and prints a line for each failure. Exit code 1 if any failed.
  --user NAME  whose images they become; needed if there are several accounts
  --no-wait    only put them into the queue; the app keeps them when it runs`

// importing is an import that is under way.
type importing struct {
	program
	app  *app
	user *records.User
	line *progress

	id    string // of the import
	seen  int64  // change number of the last failure that was told
	told  int    // failures told
	lines map[string]int
	ids   map[string]bool // of images whose bytes are in the spool for this import
	done  importDone
}

// importDone is how an import ended.
type importDone struct {
	ID      string `json:"id,omitempty"`
	Read    int    `json:"read"`    // images in the list
	There   int    `json:"there"`   // of them, were imported before
	Added   int    `json:"added"`   // are new
	Kept    int    `json:"kept"`    // of these, are archived
	Failed  int    `json:"failed"`  // could not be kept, or their line is none
	Waiting int    `json:"waiting"` // are still in the queue
}

func importCommand(ctx context.Context, p program, args []string) error {
	flags := newFlags()
	username := flags.String("user", "", "")
	noWait := flags.Bool("no-wait", false, "")
	asJSON := flags.Bool("json", false, "")
	rest, err := parse(flags, args)
	if err != nil || len(rest) != 1 {
		return usageError(importUse)
	}
	return withDatabase(ctx, p, func(c Config, db *records.DB) error {
		user, err := importUser(ctx, db, *username)
		if err != nil {
			return err
		}
		a, err := newApp(ctx, c, db, c.BaseURL, commandLog(p))
		if err != nil {
			return err
		}
		defer a.fetch.Close()
		i := &importing{program: p, app: a, user: user, line: newProgress(p), lines: map[string]int{}, ids: map[string]bool{}}
		if !*noWait {
			stop, err := i.work(ctx)
			if err != nil {
				return err
			}
			defer stop()
		}
		err = i.run(ctx, rest[0], !*noWait)
		i.line.clear()
		return errors.Join(err, i.tell(*asJSON))
	})
}

// importUser is the named account, or the only one.
func importUser(ctx context.Context, db *records.DB, name string) (*records.User, error) {
	if name != "" {
		return db.UserByName(ctx, name)
	}
	users, err := db.Users(ctx)
	if err != nil {
		return nil, err
	}
	if len(users) != 1 {
		return nil, usageError(fmt.Sprintf("There are %d accounts; say whose images they become: --user NAME", len(users)))
	}
	return &users[0], nil
}

// work starts the worker if no app runs on this data folder; else the running
// one does the work.
func (i *importing) work(ctx context.Context) (stop func(), err error) {
	a := i.app
	unlock, err := lockFolder(a.config.DataDir)
	if err != nil {
		return func() {}, nil // it says that an app is running here
	}
	if _, err := a.db.StartInstance(ctx, a.worker.Instance()); err != nil {
		unlock()
		return nil, err
	}
	a.worker.Start()
	return sync.OnceFunc(func() {
		a.worker.Stop()
		a.archiver.Close()
		a.presence.Close()
		a.signOff(context.WithoutCancel(ctx))
		unlock()
	}), nil
}

// run imports the list and waits for its end.
func (i *importing) run(ctx context.Context, from string, wait bool) error {
	list, closeList, err := i.open(from)
	if err != nil {
		return err
	}
	defer closeList()
	if err := i.add(ctx, list, wait); err != nil {
		return err
	}
	if !wait || i.id == "" {
		i.done.Waiting = i.done.Added
		return nil
	}
	return i.await(ctx, 0)
}

// askEvery is how often the database is asked how far an import is.
const askEvery = 300 * time.Millisecond

// await waits until at most so many images are not final, and tells failures.
func (i *importing) await(ctx context.Context, most int) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		state, err := i.app.db.ImportState(ctx, i.user.ID, i.id)
		if err != nil {
			return err
		}
		if err := i.tellFailures(ctx); err != nil {
			return err
		}
		i.done.Kept = state[records.Archived]
		i.done.Waiting = state[records.Generated] + state[records.Archiving] + state[records.RetryWait]
		i.line.say(i.done.Kept+i.told, i.done.Added, fmt.Sprintf("%d kept, %d waiting, %d failed", i.done.Kept, i.done.Waiting, i.done.Failed))
		if i.done.Waiting <= most {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w; the rest is in the queue, and the app goes on with it", context.Cause(ctx))
		}
	}
}

// tellFailures prints a line for each image that has failed since.
func (i *importing) tellFailures(ctx context.Context) error {
	for {
		list, err := i.app.db.ImportFailures(ctx, i.user.ID, i.id, i.seen, 100)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, image := range list {
			i.seen = image.Seq
			i.told++
			i.fails(i.lines[image.ID], image.Reason)
		}
	}
}

// fails prints the line of a failure. It never has the address, which may be
// signed.
func (i *importing) fails(line int, why string) {
	i.line.clear()
	i.done.Failed++
	fmt.Fprintf(i.err, "line %d: %s\n", line, why)
}

func (i *importing) tell(asJSON bool) error {
	i.done.ID = i.id
	if asJSON {
		if err := writeJSON(i.out, i.done); err != nil {
			return err
		}
	} else {
		d := i.done
		fmt.Fprintf(i.out, "%d images read: %d imported before, %d new; %d kept, %d waiting, %d failed\n",
			d.Read, d.There, d.Added, d.Kept, d.Waiting, d.Failed)
	}
	if i.done.Failed > 0 {
		return fmt.Errorf("%d images failed", i.done.Failed)
	}
	return nil
}
