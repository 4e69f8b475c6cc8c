package http

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"afterimage/jobs"
	"afterimage/records"
	"afterimage/storage"
)

// Watched is what figures are read from when somebody asks for them.
type Watched struct {
	DB     *records.DB
	Spool  *storage.Spool
	Slots  func() []jobs.SlotUse
	Paused func() (reason string, since records.Time, paused bool)
}

// How long figures are kept that cost the database something to read.
const (
	figuresKept = 10 * time.Second
	countsKept  = 5 * time.Minute // they read all images
	figuresTime = 5 * time.Second // for the database to answer a scrape
	countsTime  = time.Minute
)

// watch adds the figures of the database, the spool and the worker.
func (m *Metrics) watch(w Watched, streams func() int) {
	m.registry.MustRegister(&queueCollector{Watched: w, streams: streams})
}

// queueCollector reads its figures when it is asked. Those of the database are
// kept for a while, however many ask.
type queueCollector struct {
	Watched
	streams func() int

	mu        sync.Mutex
	figures   records.Figures
	figuresAt time.Time
	counts    []records.StatusCount
	countsAt  time.Time
	counting  bool
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("afterimage_"+name, help, labels, nil)
}

var (
	descImages   = desc("images", "Images by status, counted every five minutes.", "status")
	descJobs     = desc("queue_jobs", "Jobs in the queue by kind and state.", "kind", "state")
	descUsed     = desc("slots_in_use", "Slots in use in this process.", "kind", "pool")
	descSlots    = desc("slots", "Slots of this process.", "kind", "pool")
	descOldest   = desc("archive_oldest_pending_seconds", "Age of the oldest image that waits to be archived; 0 when none does.")
	descExpiry   = desc("source_next_expiry_seconds", "Time until the next source dies whose bytes are not safe yet; NaN when there is none.")
	descExpiring = desc("sources_expiring", "Sources whose bytes are not safe yet and that die within a time.", "within")
	descFiles    = desc("spool_files", "Files that wait in this machine's spool for the store.")
	descBytes    = desc("spool_bytes", "Bytes that wait in this machine's spool for the store.")
	descPaused   = desc("store_paused", "1 while the store is paused since it does not take images.")
	descStreams  = desc("sse_clients", "Clients that follow events.")
)

// Describe implements prometheus.Collector.
func (c *queueCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descImages, descJobs, descUsed, descSlots, descOldest, descExpiry, descExpiring,
		descFiles, descBytes, descPaused, descStreams} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *queueCollector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	for _, s := range c.Slots() {
		gauge(descUsed, float64(s.Used), s.Kind, s.Pool)
		gauge(descSlots, float64(s.Slots), s.Kind, s.Pool)
	}
	gauge(descStreams, float64(c.streams()))
	paused := 0.0
	if _, _, yes := c.Paused(); yes {
		paused = 1
	}
	gauge(descPaused, paused)
	if files, bytes, err := c.Spool.Usage(); err != nil {
		ch <- prometheus.NewInvalidMetric(descFiles, err)
	} else {
		gauge(descFiles, float64(files))
		gauge(descBytes, float64(bytes))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.database(ch, gauge)
	for _, n := range c.counts {
		gauge(descImages, float64(n.N), string(n.Status))
	}
}

func (c *queueCollector) database(ch chan<- prometheus.Metric, gauge func(*prometheus.Desc, float64, ...string)) {
	if err := c.refresh(); err != nil {
		ch <- prometheus.NewInvalidMetric(descJobs, err)
		return
	}
	f, now := c.figures, c.DB.Now()
	for _, q := range f.Queue {
		gauge(descJobs, float64(q.N), q.Kind, q.State)
	}
	oldest, next := 0.0, nan
	if !f.OldestPending.IsZero() {
		oldest = max(0, now.Sub(f.OldestPending.Time).Seconds())
	}
	if !f.NextExpiry.IsZero() {
		next = f.NextExpiry.Sub(now.Time).Seconds()
	}
	gauge(descOldest, oldest)
	gauge(descExpiry, next)
	for n, within := range []string{"5m", "15m", "1h"} {
		gauge(descExpiring, float64(f.Expiring[n]), within)
	}
}

// refresh reads what has become old.
func (c *queueCollector) refresh() error {
	if time.Since(c.countsAt) > countsKept && !c.counting {
		c.counting = true
		go c.count()
	}
	if time.Since(c.figuresAt) < figuresKept {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), figuresTime)
	defer cancel()
	f, err := c.DB.Figures(ctx)
	if err == nil {
		c.figures, c.figuresAt = f, time.Now()
	}
	return err
}

// count counts all images, which no scrape waits for.
func (c *queueCollector) count() {
	ctx, cancel := context.WithTimeout(context.Background(), countsTime)
	defer cancel()
	counts, err := c.DB.StatusCounts(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counting, c.countsAt = false, time.Now()
	if err == nil {
		c.counts = counts
	}
}
