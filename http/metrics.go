package http

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"afterimage/jobs"
	"afterimage/records"
)

// Metrics are the figures of this process in the form of Prometheus. No label
// names a person, a prompt or an address, so that their number stays small and
// nothing private leaves by this door.
type Metrics struct {
	registry *prometheus.Registry
	recent   recent // what the desk draws
	version  string
	started  time.Time

	attempts  *prometheus.CounterVec   // result, reason
	duration  *prometheus.HistogramVec // result
	bytes     prometheus.Counter
	settled   *prometheus.CounterVec   // kind, verdict
	storeOps  *prometheus.CounterVec   // operation, result
	storeTime *prometheus.HistogramVec // operation
	calls     *prometheus.CounterVec   // provider, result
	requests  *prometheus.HistogramVec // route, method, code
}

// NewMetrics makes the figures; version is the program's.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(), version: version, started: time.Now(),
		attempts: counter("afterimage_archive_attempts_total", "Attempts to archive an image, by how they ended.", "result", "reason"),
		duration: histogram("afterimage_archive_duration_seconds", "Time from the claim of an image to the end of its attempt.",
			[]float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300}, "result"),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{Name: "afterimage_archived_bytes_total",
			Help: "Bytes of images that were archived."}),
		settled:  counter("afterimage_jobs_settled_total", "Jobs that ended, by kind and verdict.", "kind", "verdict"),
		storeOps: counter("afterimage_store_operations_total", "Operations on the store, by their result.", "operation", "result"),
		storeTime: histogram("afterimage_store_operation_duration_seconds", "Time that operations on the store took.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "operation"),
		calls: counter("afterimage_provider_requests_total", "Requests for images to providers, by their result.", "provider", "result"),
		requests: histogram("afterimage_http_request_duration_seconds", "Time that requests took, by route.",
			[]float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}, "route", "method", "code"),
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "afterimage_build_info", Help: "Always 1; the label is the version.",
		ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.registry.MustRegister(build, m.attempts, m.duration, m.bytes, m.settled, m.storeOps, m.storeTime, m.calls, m.requests,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}

// Kinds are the kinds of job with their ends counted.
func (m *Metrics) Kinds(kinds []jobs.Kind) []jobs.Kind {
	for n := range kinds {
		kind, after := kinds[n].Name, kinds[n].After
		kinds[n].After = func(ctx context.Context, s records.Settlement, lost bool) {
			m.settlement(kind, s, lost)
			if after != nil {
				after(ctx, s, lost)
			}
		}
	}
	return kinds
}

func (m *Metrics) settlement(kind string, s records.Settlement, lost bool) {
	if lost {
		m.settled.WithLabelValues(kind, "lost").Inc()
		return
	}
	m.settled.WithLabelValues(kind, s.Verdict.String()).Inc()
	switch kind {
	case records.KindArchive:
		for _, c := range s.Images {
			m.attempt(c)
			if c.Image.Status == records.Archived {
				m.recent.archived(time.Now(), c.Image.Bytes, time.Since(s.Job.CreatedAt.Time))
			}
		}
	case records.KindGenerate:
		if g := s.Generation; g != nil {
			result := string(g.Status)
			if g.Reason != "" {
				result = g.Reason
			}
			m.calls.WithLabelValues(g.Provider, result).Inc()
		}
	}
}

// attempt counts what became of one image.
func (m *Metrics) attempt(c records.ImageChange) {
	var result string
	switch c.Image.Status {
	case records.Archived:
		result = "archived"
		m.bytes.Add(float64(c.Image.Bytes))
	case records.ArchiveFailed:
		result = "failed"
	case records.RetryWait:
		result = "retried"
	case records.Archiving:
		result = "held" // for its store
	default:
		result = "returned"
	}
	m.attempts.WithLabelValues(result, c.Image.Reason).Inc()
	if c.Event != nil && !c.Event.StartedAt.IsZero() {
		m.duration.WithLabelValues(result).Observe(max(0, time.Since(c.Event.StartedAt.Time).Seconds()))
	}
}

// request counts an answer.
func (m *Metrics) request(r *http.Request, status int, took time.Duration) {
	if m == nil || status == 0 {
		return
	}
	name := route(r)
	if name == "" {
		name = "none" // no route: its path could be anything
	}
	m.requests.WithLabelValues(name, r.Method, strconv.Itoa(status)).Observe(took.Seconds())
}

// metrics answers GET /metrics: to who has the token, or, where none is set,
// to this machine alone.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if err := s.mayScrape(r); err != nil {
		s.fail(w, r, err)
		return
	}
	promhttp.HandlerFor(s.Metrics.registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError, ErrorLog: scrapeLog{s.Log}, DisableCompression: true,
	}).ServeHTTP(w, r)
}

func (s *Server) mayScrape(r *http.Request) error {
	if s.Metrics == nil {
		return records.ErrNotFound
	}
	switch {
	case s.MetricsToken != "":
		if !sameSecret(bearer(r), s.MetricsToken) {
			return newProblem(http.StatusUnauthorized, codeUnauthorized, "Send the token of AFTERIMAGE_METRICS_TOKEN as a bearer token.")
		}
	case !fromThisMachine(r):
		return newProblem(http.StatusForbidden, codeForbidden, "Only this machine may read the metrics. Set AFTERIMAGE_METRICS_TOKEN to let others.")
	}
	return nil
}

// sameSecret compares without telling by its time how much is right.
func sameSecret(given, want string) bool {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

func bearer(r *http.Request) string {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(secret)
}

// fromThisMachine reports whether a request comes from this machine itself. A
// proxy on it, which speaks for anybody, says so in a header.
func fromThisMachine(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

var nan = math.NaN()

// scrapeLog tells of figures that could not be read.
type scrapeLog struct{ log *slog.Logger }

func (l scrapeLog) Println(v ...any) {
	for _, one := range v {
		if err, ok := one.(error); ok && !errors.Is(err, context.Canceled) {
			l.log.Warn("some figures could not be read", "err", err)
		}
	}
}
