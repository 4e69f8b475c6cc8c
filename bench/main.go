// Command bench measures the archive worker beside the same transfers without
// queue and database (the floor) and, where its command is given, beside a
// peer. It owns how figures are taken and shown; what it measures is the code
// of the other packages, wired as main wires it. Run it by `make bench`;
// docs/benchmarks.md says what each row means.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// settings say how much is measured.
type settings struct {
	Runs    int    // of each row; the median counts
	Images  int    // of 200 KB in a burst; a fifth of it of 2 MB
	Seconds int    // for which a row of latencies inserts images
	Claims  int    // by each of the 16 claimers
	History int    // finished images behind a claim
	Churn   int    // jobs done without vacuum before a claim
	Waiting int    // jobs that wait for their retry during a claim
	Imports int    // that wait while somebody waits for an image
	API     int    // images behind what programs ask for
	Large   int    // images of 50 MB, for the memory
	Only    string // rows to measure, by the beginning of their names, comma-separated
	Peer    string // the peer's command
	Binary  string // of the app, for the crashes; empty: it is built
	Thumbs  bool   // draw thumbnails meanwhile
	Profile string // file for a CPU profile of the product's bursts
}

func readSettings(args []string) (settings, string, error) {
	var s settings
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&s.Runs, "runs", 5, "measurements of each row; the median counts")
	f.IntVar(&s.Images, "images", 2000, "images of 200 KB in a burst; a fifth of it of 2 MB")
	f.IntVar(&s.Seconds, "seconds", 10, "for which each row of latencies inserts images")
	f.IntVar(&s.Claims, "claims", 200, "claims by each of the 16 claimers")
	f.IntVar(&s.History, "history", 5_000_000, "finished images behind a claim")
	f.IntVar(&s.Churn, "churn", 100_000, "jobs done without vacuum before a claim")
	f.IntVar(&s.Waiting, "waiting", 1_000_000, "jobs that wait for their retry during a claim")
	f.IntVar(&s.Imports, "imports", 100_000, "imports that wait while somebody waits for an image")
	f.IntVar(&s.API, "api", 1_000_000, "images behind what programs ask for")
	f.IntVar(&s.Large, "large", 128, "images of 50 MB, for the memory; of 2 MB ten times as many")
	f.StringVar(&s.Only, "only", "", "rows to measure, by the beginning of their names, comma-separated")
	f.StringVar(&s.Peer, "peer", "", "command of the peer, with the flags of riverarchive")
	f.StringVar(&s.Binary, "binary", "", "the app, for the crashes; it is built where this is empty")
	f.BoolVar(&s.Thumbs, "thumbnails", false, "draw thumbnails meanwhile, as the app does")
	f.StringVar(&s.Profile, "cpuprofile", "", "file for a CPU profile of the product's bursts")
	quick := f.Bool("quick", false, "everything small and once, without the longest rows: shows in two minutes that it runs")
	child := f.String("child", "", "for this program itself: source or product")
	list := f.Bool("list", false, "list the rows and end")
	if err := f.Parse(args); err != nil {
		return s, "", err
	}
	if *quick {
		given := map[string]bool{}
		f.Visit(func(v *flag.Flag) { given[v.Name] = true })
		for name, value := range map[string]string{"runs": "1", "images": "200", "seconds": "2", "claims": "20", "history": "20000",
			"churn": "2000", "waiting": "10000", "imports": "2000", "api": "60000", "large": "64", "only": "api,archive,latency,claim,memory-2m,crash-same,crash-other"} {
			if !given[name] {
				f.Set(name, value)
			}
		}
	}
	if *list {
		*child = "list"
	}
	if f.NArg() > 0 || min(s.Runs, s.Images, s.Seconds, s.Claims, s.Large) < 1 {
		return s, "", errors.New("every number is at least 1, and there are no arguments beside the flags")
	}
	return s, *child, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, mode, err := readSettings(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
	case mode == "source":
		err = serveSource(ctx, os.Stdin, os.Stdout)
	case mode == "product":
		err = productChild(ctx, os.Stdin, os.Stdout)
	case mode == "list":
		for _, r := range rows() {
			fmt.Println(r.name)
		}
	default:
		err = measure(ctx, s, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// row is one line, or a few, of the table.
type row struct {
	name    string
	measure func(ctx context.Context, b *bench) error
}

func rows() []row {
	return []row{
		{"archive-2x200k", burst(2, small, 0.90)},
		{"archive-16x200k", burst(16, small, 0.85)},
		{"archive-64x200k", burst(64, small, 0.90)},
		{"archive-2x2m", burst(2, medium, 0.90)},
		{"archive-16x2m", burst(16, medium, 0.97)},
		{"latency-steady", steady},
		{"latency-four", four},
		{"latency-lanes", lanes},
		{"claim-history", claimHistory},
		{"claim-churn", claimChurn},
		{"claim-waiting", claimWaiting},
		{"memory-2m", memory(medium, 100)},
		{"memory-50m", memory(large, 150)},
		{"api", api},
		{"api-wait", apiWait},
		{"api-events", apiEvents},
		{"crash-same", crashSame},
		{"crash-other", crashOther},
		{"crash-frozen", crashFrozen},
	}
}

func (s settings) wants(name string) bool {
	for only := range strings.SplitSeq(s.Only, ",") {
		if strings.HasPrefix(name, strings.TrimSpace(only)) {
			return true
		}
	}
	return false
}

// measure takes all rows that the settings want. A row that cannot be taken
// does not keep the others from it.
func measure(ctx context.Context, s settings, out io.Writer) error {
	b, err := open(ctx, s)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.describe(ctx, out); err != nil {
		return err
	}
	var errs []error
	for _, r := range rows() {
		if ctx.Err() != nil || !s.wants(r.name) {
			continue
		}
		started := time.Now()
		if err := r.measure(ctx, b); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.name, err))
			b.say("%s: %v", r.name, err)
			continue
		}
		b.say("%s took %.0f s", r.name, time.Since(started).Seconds())
	}
	b.table.write(out)
	return errors.Join(errs...)
}
