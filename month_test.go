package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"afterimage/archive"
	"afterimage/fetch"
	"afterimage/generate"
	"afterimage/jobs"
	"afterimage/notify"
	"afterimage/records"
	"afterimage/records/recordstest"
	"afterimage/storage"
)

// month is several instances on one database, in a bubble of simulated time,
// and what they did on each day.
type month struct {
	t      *testing.T
	config records.Config
	store  storage.Store

	mu   sync.Mutex
	runs map[string]map[string]int // by kind and person, then by the day that the job is for
}

// instanceOf builds what an instance needs for what is due later, without a
// site.
func (m *month) instanceOf(name string) *app {
	m.t.Helper()
	db := recordstest.Open(m.t, m.config)
	spool, err := storage.OpenSpool(filepath.Join(m.t.TempDir(), "spool"))
	if err != nil {
		m.t.Fatal(err)
	}
	client, err := fetch.New(fetch.Config{})
	if err != nil {
		m.t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	a := &app{log: log, db: db, spool: spool, store: m.store, instance: name}
	a.archiver = archive.New(archive.Config{DB: db, Store: m.store, Spool: spool, Fetch: client, Log: log})
	a.runner = generate.New(generate.Config{DB: db, Spool: spool, Fetch: client, Log: log})
	a.notifier = notify.New(notify.Config{DB: db, Client: client.HTTPClient(), Log: log,
		Describe: func(context.Context, string, string, string) (any, error) { return nil, nil }})
	m.t.Cleanup(a.archiver.Close)
	return a
}

// start begins a new life of an instance.
func (m *month) start(a *app) {
	m.t.Helper()
	kinds := a.kinds()
	if os.Getenv("TEST_LONG") == "" { // the watch alone makes 43,200 runs
		kinds = slices.DeleteFunc(kinds, func(k jobs.Kind) bool { return k.Name == records.KindWatch })
	}
	for n := range kinds {
		if do := kinds[n].Do; do != nil && kinds[n].Name != records.KindWatch {
			kinds[n].Do = func(ctx context.Context, j records.Job) error {
				m.note(a, j)
				return do(ctx, j)
			}
		}
	}
	a.worker = jobs.New(jobs.Config{DB: a.db, InstanceID: records.NewID(), SpoolID: a.spool.ID(), Kinds: kinds,
		Poll: 6 * time.Hour, Sweep: 6 * time.Hour, BeatEvery: 6 * time.Hour, Log: a.log})
	if _, err := a.db.StartInstance(m.t.Context(), a.worker.Instance()); err != nil {
		m.t.Fatal(err)
	}
	a.db.OnJobs(a.worker.Wake)
	if err := a.schedule(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	a.worker.Start()
}

func (m *month) note(a *app, j records.Job) {
	if j.Kind == records.KindDigest {
		wish, err := a.db.DigestWish(m.t.Context(), j.UserID)
		if err != nil {
			m.t.Error(err)
		}
		j.Kind += " " + wish.Zone
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs[j.Kind] == nil {
		m.runs[j.Kind] = map[string]int{}
	}
	m.runs[j.Kind][*j.Ref]++
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// A month of three instances that restart every few hours, each in its turn,
// and are all down for two days and a half: each daily job runs once on each
// day, and once when they are back. Daylight saving time begins meanwhile. The
// short form has a week.
func TestAMonthOfDailyJobs(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		synctest.Test(t, func(t *testing.T) {
			pass(time.Until(time.Date(2000, 3, 10, 15, 0, 0, 0, time.UTC)))
			store, err := storage.NewDisk(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			m := &month{t: t, config: c, store: store, runs: map[string]map[string]int{}}
			three := []*app{m.instanceOf("one"), m.instanceOf("two"), m.instanceOf("three")}
			for n, zone := range []string{"Europe/Vienna", "Asia/Shanghai", "America/New_York"} {
				user := recordstest.User(t, three[0].db, fmt.Sprint("person", n))
				hour := 2 + 10*n // the first one's does not exist on one day
				wish := records.DigestWish{UserID: user, Zone: zone, Hour: &hour}
				if err := three[0].db.SetDigest(t.Context(), wish, notify.Daily(wish).Schedule(three[0].db.Now())); err != nil {
					t.Fatal(err)
				}
			}
			for _, a := range three {
				m.start(a)
			}
			restart := func(to time.Time) {
				for n := 0; time.Now().Before(to); n++ {
					a := three[n%3]
					a.worker.Stop()
					pass(20 * time.Minute)
					m.start(a)
					pass(5*time.Hour + 40*time.Minute)
				}
			}
			march := func(day, hour int) time.Time { return time.Date(2000, 3, day, hour, 0, 0, 0, time.UTC) }
			outage, end := march(12, 22), march(18, 21)
			if os.Getenv("TEST_LONG") != "" {
				outage, end = march(20, 22), march(40, 21)
			}
			restart(outage)
			for _, a := range three {
				a.worker.Stop()
			}
			down := time.Now()
			pass(62 * time.Hour)
			back := time.Now()
			for _, a := range three { // all at the same moment
				m.start(a)
			}
			restart(end)
			for _, a := range three {
				a.worker.Stop()
			}
			m.check(down, back, end)
		})
	})
}

// check compares each day's runs with what they should be.
func (m *month) check(down, back, end time.Time) {
	m.t.Helper()
	if len(m.runs) != len(dailies)+3 {
		m.t.Errorf("only these ran: %v", m.runs)
	}
	var table strings.Builder
	for _, kind := range slices.Sorted(maps.Keys(m.runs)) {
		fmt.Fprintf(&table, "\n%-24s", kind)
		missed := 0 // days that nobody was up for
		for day := time.Date(2000, 3, 11, 12, 0, 0, 0, time.UTC); day.Before(end.Add(-21 * time.Hour)); day = day.AddDate(0, 0, 1) {
			n := m.runs[kind][day.Format(time.DateOnly)]
			fmt.Fprintf(&table, " %d", n)
			switch near := day.After(down.AddDate(0, 0, -1)) && day.Before(back.AddDate(0, 0, 1)); {
			case n > 1, n == 0 && !near:
				m.t.Errorf("%s ran %d times for %s", kind, n, day.Format(time.DateOnly))
			case n == 0:
				missed++
			}
		}
		// Of the two or three moments that passed meanwhile one was made up for.
		if missed < 1 || missed > 2 {
			m.t.Errorf("%s: %d days were left out", kind, missed)
		}
	}
	m.t.Logf("runs for each day from 11 March; all down from %s to %s:%s", down.Format(time.DateTime), back.Format(time.DateTime), table.String())
}
