package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"time"

	"afterimage/fetch"
	"afterimage/generate"
	"afterimage/http"
	"afterimage/records"
	"afterimage/storage"
	"afterimage/web"
)

// apiWorld is a site on a database of very many images of one person.
type apiWorld struct {
	filler
	db     *records.DB
	server *http.Server
	key    string
	seeds  int // images that the app itself has written
	images int
	close  func()
}

// seedWords is how many different prompts there are.
const seedWords = 5000

func (b *bench) newAPI(ctx context.Context) (*apiWorld, error) {
	db, config, person, drop, err := b.newRecords(ctx, 16)
	if err != nil {
		return nil, err
	}
	w := &apiWorld{filler: filler{persons: []string{person}}, db: db, close: drop}
	if w.filler.db, err = connect(config); err == nil {
		w.server, err = b.newServer(ctx, db)
	}
	if err == nil {
		db.OnChange(w.server.Changed)
		_, w.key, err = db.CreateKey(ctx, person, "bench", []string{records.ScopeImagesWrite}, 0)
	}
	if err == nil {
		err = w.seed(ctx)
	}
	if err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (b *bench) newServer(ctx context.Context, db *records.DB) (*http.Server, error) {
	site, err := web.New()
	if err != nil {
		return nil, err
	}
	client, err := fetch.New(fetch.Config{})
	if err != nil {
		return nil, err
	}
	spool, err := storage.OpenSpool(b.dir + "/spool-" + records.NewID())
	if err != nil {
		return nil, err
	}
	return http.New(ctx, http.Config{DB: db, Store: b.store, Spool: spool, Fetch: client, Providers: []generate.Provider{generate.NewDemo()},
		Site: site, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), BaseURL: "http://bench.example", MaxAttempts: 3,
		Paused: func() (string, records.Time, bool) { return "", records.Time{}, false }})
}

// seed has the app write each of the prompts once, and so index it.
func (w *apiWorld) seed(ctx context.Context) error {
	for from := 0; from < seedWords; from += 500 {
		items := make([]records.ImportItem, 500)
		for n := range items {
			items[n] = records.ImportItem{URL: "http://127.0.0.1/gone", Reason: "source_expired",
				Prompt: fmt.Sprintf("a lighthouse in the rain, oil on canvas, 灯塔, word%05d", from+n)}
		}
		if _, _, err := w.db.CreateImport(ctx, w.persons[0], items, records.Idempotency{}); err != nil {
			return err
		}
	}
	w.seeds, w.images = seedWords, seedWords
	_, err := w.filler.db.ExecContext(ctx, `CREATE TABLE seeds AS SELECT row_number() OVER () - 1 AS k, text, grams FROM image_words`)
	if err == nil {
		_, err = w.filler.db.ExecContext(ctx, `CREATE UNIQUE INDEX ON seeds (k)`)
	}
	return err
}

// grow writes images until there are n, older than the seeds, each with one of
// their prompts.
func (w *apiWorld) grow(ctx context.Context, n int) error {
	more := n - w.images
	w.images = n
	err := w.statements(ctx, more,
		w.filler.images(`archived_at, object_key, mime, bytes, width, height, sha256, attempt`,
			`'archived', 'a lighthouse in the rain, oil on canvas', now() - n * interval '1 s', now(), now(), 'images/' || `+rowID+`,
			'image/png', 200000, 258, 258, md5(n::text) || md5((-n)::text), 1`),
		`INSERT INTO image_words (image_id, text, grams) SELECT `+rowID+`, text, grams`+rows1+fmt.Sprintf(` JOIN seeds ON k = n %% %d`, seedWords),
		w.heads())
	if err == nil {
		_, err = w.filler.db.ExecContext(ctx, `VACUUM ANALYZE`)
	}
	return err
}

// get asks the server in this process, and returns what it took.
func (w *apiWorld) get(path string) (*httptest.ResponseRecorder, time.Duration) {
	r := httptest.NewRequest("GET", "http://bench.example"+path, nil)
	r.Header.Set("Authorization", "Bearer "+w.key)
	rec := httptest.NewRecorder()
	began := time.Now()
	w.server.ServeHTTP(rec, r)
	return rec, time.Since(began)
}

// median asks many times.
func (w *apiWorld) median(path string, times int) (time.Duration, error) {
	var took []time.Duration
	for range times {
		rec, d := w.get(path)
		if rec.Code != nethttp.StatusOK {
			return 0, fmt.Errorf("%s answers %d: %s", path, rec.Code, rec.Body)
		}
		took = append(took, d)
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// api measures what programs ask for, with few images and with very many.
func api(ctx context.Context, b *bench) error {
	w, err := b.newAPI(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	defer w.filler.db.Close()
	var polls, pages []float64
	for _, n := range []int{50_000, b.API} {
		b.say("api: %d images", n)
		if err := w.grow(ctx, n); err != nil {
			return err
		}
		rate, err := w.polls()
		if err != nil {
			return err
		}
		page, err := w.median("/api/v1/images", 51)
		if err != nil {
			return err
		}
		polls, pages = append(polls, rate), append(pages, ms(page))
	}
	b.table.add(line{what: "history poll, nothing new, one core", base: fmt.Sprintf("%.0f/s at 50,000", polls[0]),
		ours: fmt.Sprintf("%.0f/s at %d", polls[1], b.API), figures: []figure{{min(polls[0], polls[1]), 5000, true}}})
	b.table.add(line{what: "first page of 50, ms and ratio", base: fmt.Sprintf("%.1f ms at 50,000", pages[0]),
		ours: fmt.Sprintf("%.1f ms at %d", pages[1], b.API), figures: []figure{{max(pages[0], pages[1]), 10, false}, {pages[1] / pages[0], 1.5, false}}})
	return w.search(b)
}

// polls is how many polls with nothing new one core answers in a second.
func (w *apiWorld) polls() (float64, error) {
	var cursor string
	for since := ""; ; since = cursor {
		rec, _ := w.get("/api/v1/history?limit=200&since=" + since)
		_, rest, found := strings.Cut(rec.Body.String(), `"cursor":"`)
		if !found {
			return 0, fmt.Errorf("the history answers %d: %s", rec.Code, rec.Body)
		}
		cursor, _, _ = strings.Cut(rest, `"`)
		if strings.Contains(rec.Body.String(), `"has_more":false`) {
			break
		}
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	n, began := 0, time.Now()
	for ; time.Since(began) < 3*time.Second; n++ {
		if rec, _ := w.get("/api/v1/history?since=" + cursor); rec.Code != nethttp.StatusOK {
			return 0, fmt.Errorf("a poll answers %d", rec.Code)
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// search looks for what many have, few, one and none.
func (w *apiWorld) search(b *bench) error {
	worst, texts := 0.0, []string{}
	for _, q := range []string{"lighthouse", "%E7%81%AF%E5%A1%94", "ord04", "word01234", "light+word04999", "nothing"} {
		took, err := w.median("/api/v1/images?q="+q, 5)
		if err != nil {
			return err
		}
		worst = max(worst, ms(took))
		texts = append(texts, fmt.Sprintf("%s %.0f", q, ms(took)))
	}
	b.table.add(line{what: fmt.Sprintf("prompt search over %d images, ms", b.API), base: "–", ours: strings.Join(texts, ", "),
		figures: []figure{{worst, 300, false}}})
	return nil
}
