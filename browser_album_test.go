package main

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"afterimage/records"
)

// album is a program whose gallery is full: images that were really made, and
// copies of them that say to be in every state.
type album struct {
	*running
	t     *testing.T
	db    *sql.DB
	made  []string // ids of images that are archived
	order int
}

var albumSizes = []string{"1024x1024", "1536x1024", "1024x1536", "1344x768", "768x1344", "1024x1024"}

var albumPrompts = []string{
	"A lighthouse in fog, long exposure", "Neon koi in dark water", "Blue ridges before sunrise", "雾中的灯塔，长曝光",
	"A planet with two moons above red dunes", "مدينة في الليل تحت المطر", "Pines in first snow 🌲❄️", "Marble, gold veins, macro",
}

func newAlbum(t *testing.T, extra ...string) *album {
	t.Helper()
	dir := t.TempDir()
	// Without a sweep the copies stay in the states they are given.
	r := start(t, testEnviron(dir, append([]string{"IMAGE_ARCHIVE_SWEEP_INTERVAL=10h", "IMAGE_ARCHIVE_CONCURRENCY=4"}, extra...)...))
	a := &album{running: r, t: t, db: openSQLite(t, dir+"/afterimage.db")}
	c := r.client()
	for n, prompt := range albumPrompts {
		var g struct{ Images []image }
		c.call("POST", "/api/v1/generations", map[string]any{"provider": "demo", "prompt": prompt, "size": albumSizes[n%len(albumSizes)], "seed": n}, 202, &g)
		for _, i := range g.Images {
			a.made = append(a.made, i.ID)
		}
	}
	c.follow(a.made)
	eventually(t, time.Minute, "all have thumbnails", func() bool {
		return value[int](t, a.db, `SELECT count(*) FROM images WHERE thumb = ''`) == 0
	})
	return a
}

// copies adds a copy of an image, with other values in some columns. SQL is
// written as records.Time does it: what is no text of ours stays as it was.
func (a *album) copies(tx interface {
	Exec(string, ...any) (sql.Result, error)
}, of string, at time.Time, change map[string]any) string {
	a.t.Helper()
	a.order++
	id := records.NewID()
	set := maps.Clone(change)
	if set == nil {
		set = map[string]any{}
	}
	set["id"], set["seq"], set["created_at"], set["updated_at"] = id, -a.order, records.At(at), records.At(time.Now())
	var columns, values []string
	var args []any
	for _, name := range a.columns() {
		columns = append(columns, name)
		if v, ok := set[name]; ok {
			values, args = append(values, "?"), append(args, v)
		} else {
			values = append(values, name)
		}
	}
	query := fmt.Sprintf(`INSERT INTO images (%s) SELECT %s FROM images WHERE id = ?`, strings.Join(columns, ", "), strings.Join(values, ", "))
	if _, err := tx.Exec(query, append(args, of)...); err != nil {
		a.t.Fatal(err)
	}
	return id
}

var imageColumns []string

func (a *album) columns() []string {
	a.t.Helper()
	if imageColumns != nil {
		return imageColumns
	}
	rows, err := a.db.Query(`SELECT name FROM pragma_table_info('images')`)
	if err != nil {
		a.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			a.t.Fatal(err)
		}
		imageColumns = append(imageColumns, name)
	}
	return imageColumns
}

// everyState adds one image in each state, and some that are odd.
func (a *album) everyState() map[string]string {
	a.t.Helper()
	now := time.Now()
	soon := func(d time.Duration) records.Time { return records.At(now.Add(d)) }
	bare := map[string]any{"object_key": "", "thumb": "", "placeholder": "", "sha256": "", "bytes": 0, "attempt": 0}
	states := map[string]map[string]any{
		"queued":     {"status": "queued"},
		"generating": {"status": "generating"},
		"generated":  {"status": "generated", "source_url": "https://a.example/1.png", "source_expires_at": soon(12 * time.Minute)},
		"archiving":  {"status": "archiving", "attempt": 1, "source_url": "https://a.example/1.png"},
		"retry_wait": {"status": "retry_wait", "attempt": 2, "reason": "source_slow", "next_attempt_at": soon(9 * time.Minute), "source_expires_at": soon(4 * time.Minute),
			"source_url": "https://a.example/1.png"},
		"archive_failed":  {"status": "archive_failed", "attempt": 3, "reason": "source_expired"},
		"generate_failed": {"status": "generate_failed", "reason": "refused", "provider_message": "Your request was rejected by the safety system."},
		"unknown":         {"status": "unknown", "reason": "unknown_outcome"},
		"canceled":        {"status": "canceled"},
	}
	ids := map[string]string{}
	for n, name := range slices.Sorted(maps.Keys(states)) {
		change := maps.Clone(bare)
		maps.Copy(change, states[name])
		ids[name] = a.copies(a.db, a.made[n%len(a.made)], now.Add(-time.Duration(n)*time.Minute), change)
	}
	ids["favorite"] = a.copies(a.db, a.made[1], now.Add(-26*time.Hour), map[string]any{"favorite": true})
	ids["tall"] = a.copies(a.db, a.made[2], now.Add(-27*time.Hour), map[string]any{"width": 1, "height": 8000, "prompt": "1 × 8000"})
	ids["wide"] = a.copies(a.db, a.made[2], now.Add(-28*time.Hour), map[string]any{"width": 8000, "height": 1, "prompt": "8000 × 1"})
	ids["long"] = a.copies(a.db, a.made[3], now.Add(-29*time.Hour), map[string]any{"prompt": strings.Repeat("A lighthouse in fog, long exposure, and then ", 90)[:4000]})
	ids["trashed"] = a.copies(a.db, a.made[0], now.Add(-50*time.Hour), map[string]any{"trashed_at": soon(-72 * time.Hour)})
	a.copies(a.db, a.made[2], now.Add(-51*time.Hour), map[string]any{"trashed_at": soon(-24 * time.Hour)})
	for n := range 16 {
		a.copies(a.db, a.made[n%len(a.made)], now.Add(-time.Duration(30+n)*time.Hour), nil)
	}
	ids["archived"] = a.made[0]
	return ids
}

// many adds n archived images, an hour apart.
func (a *album) many(n int) {
	a.t.Helper()
	tx, err := a.db.Begin()
	if err != nil {
		a.t.Fatal(err)
	}
	for k := range n {
		a.copies(tx, a.made[k%len(a.made)], time.Now().Add(-time.Duration(k)*7*time.Minute), nil)
	}
	if err := tx.Commit(); err != nil {
		a.t.Fatal(err)
	}
}

// signIn opens the gallery of the album in a browser of its own.
func (a *album) signIn() *tab {
	a.t.Helper()
	b := openTab(a.t, a.url)
	b.open("/sign-in")
	b.do("sign in", fill("username", "admin"), fill("password", adminPassword), click("form button.btn-main"))
	b.await("the gallery", `location.pathname == "/" && document.querySelector("#live")`)
	return b
}
