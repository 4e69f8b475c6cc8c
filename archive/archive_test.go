package archive_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/fetch"
	"afterimage/jobs"
	"afterimage/records"
)

func sum(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

func TestImageIsArchived(t *testing.T) {
	for _, name := range []string{"/small.png", "/large.png"} {
		t.Run(strings.Trim(name, "/"), func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.start(options{})
				id := w.imported("https://source.example" + name)
				w.pass(time.Second)
				i := w.wantArchived(id, picture(name))
				if want := "images/2026/03/01/" + id + ".png"; i.ObjectKey != want {
					t.Errorf("object key %s, want %s", i.ObjectKey, want)
				}
				if i.Attempt != 1 {
					t.Errorf("attempt %d, want 1", i.Attempt)
				}
				w.wantEvents(id, "imported", "archived")
				w.wantEmpty("spool")
			})
		})
	}
}

// A failure that may pass is tried again on the second: 30 s, 2 min, 10 min,
// and 10 min for all later ones.
func TestRetriesFollowTheSchedule(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.source.answers(func(int, *http.Request) (*http.Response, error) { return answer(503, nil), nil })
		w.start(options{archive: archive.Config{MaxAttempts: 6}})
		id := w.imported("https://source.example/a.png")
		w.pass(time.Second)
		i := w.wantStatus(id, records.RetryWait, fetch.Odd)
		if wait := i.NextAttemptAt.Sub(i.UpdatedAt.Time); i.Attempt != 1 || wait < 29*time.Second || wait > 30*time.Second {
			t.Errorf("attempt %d, the next in %s; want 1 and 30 s", i.Attempt, wait)
		}
		w.pass(40 * time.Minute)
		w.wantStatus(id, records.ArchiveFailed, fetch.Odd)
		wantTimes(t, w.source.times("/a.png"), 0, 30*time.Second, 150*time.Second, 750*time.Second, 1350*time.Second, 1950*time.Second)
		if i := w.image(id); i.Attempt != 6 || !i.NextAttemptAt.IsZero() || i.SourceURL == "" {
			t.Errorf("attempt %d, next %v, source %q; want the sixth, none, and the source kept for a retry by hand", i.Attempt, i.NextAttemptAt, i.SourceURL)
		}
		w.wantJobs(id)
	})
}

func wantTimes(t *testing.T, got []time.Duration, want ...time.Duration) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("asked at %v, want %v", got, want)
	}
	for n := range want {
		if d := got[n] - want[n]; d < 0 || d > time.Second {
			t.Errorf("asked at %v, want %v", got, want)
			return
		}
	}
}

func TestNextAttemptIsMoved(t *testing.T) {
	tests := []struct {
		name     string
		after    string        // Retry-After of the first answer
		lives    time.Duration // of the link; 0: unknown
		want     time.Duration
		attempts int
	}{
		{"a longer Retry-After is obeyed", "90", 0, 90 * time.Second, 2},
		{"a shorter Retry-After does not hurry", "2", 0, 30 * time.Second, 2},
		{"a retry that would come too late comes in half of the time left", "", 20 * time.Second, 10 * time.Second, 2},
		{"an expiry far away changes nothing", "", time.Hour, 30 * time.Second, 2},
		{"a Retry-After beyond the expiry would lose the image", "120", 40 * time.Second, 20 * time.Second, 2},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.source.answers(func(nth int, r *http.Request) (*http.Response, error) {
					if nth == 1 {
						return answer(429, nil, "Retry-After", test.after), nil
					}
					return ok(picture("a")), nil
				})
				w.start(options{})
				item := records.ImportItem{URL: "https://source.example/a.png"}
				if test.lives > 0 {
					item.ExpiresAt = w.Now().Add(test.lives)
				}
				id := w.imports(item)[0].ID
				w.pass(3 * time.Minute)
				w.wantArchived(id, picture("a"))
				wantTimes(t, w.source.times("/a.png"), 0, test.want)
			})
		})
	}
}

func TestFailuresAreSorted(t *testing.T) {
	cut := func(*http.Request) (*http.Response, error) {
		r := ok(picture("/large.png"))
		r.Body = io.NopCloser(io.MultiReader(io.LimitReader(r.Body, 1000), brokenBody{}))
		return r, nil
	}
	half := func(*http.Request) (*http.Response, error) {
		return ok(picture("/a.png")[:len(picture("/a.png"))/2]), nil
	}
	gives := func(status int, body string) func(*http.Request) (*http.Response, error) {
		return func(*http.Request) (*http.Response, error) { return answer(status, []byte(body)), nil }
	}
	page := "<!doctype html><title>sorry</title>"
	tests := []struct {
		name   string
		url    string
		answer func(*http.Request) (*http.Response, error)
		reason string
		asked  int // times in all
	}{
		{"a page is no image", "https://a.example/i", gives(200, page), fetch.NotImage, 1},
		{"404 is final", "https://a.example/i", gives(404, ""), fetch.Missing, 1},
		{"a private address is not even asked", "https://10.0.0.1/i", gives(200, ""), fetch.Blocked, 0},
		{"a file is not asked", "file:///etc/passwd", gives(200, ""), fetch.Blocked, 0},
		{"too many bytes are final", "https://a.example/i", func(*http.Request) (*http.Response, error) {
			r := ok(picture("a"))
			r.ContentLength = 65 << 20
			return r, nil
		}, fetch.TooLarge, 1},
		{"a link whose time is over is final", "https://a.example/i?Expires=1772000000&Signature=abc", gives(403, "denied"), fetch.Expired, 1},
		{"half an image is tried again", "https://a.example/i", half, fetch.Corrupt, 3},
		{"a body that breaks off is tried again", "https://a.example/i", cut, fetch.Corrupt, 3},
		{"500 is tried again", "https://a.example/i", gives(500, ""), fetch.Odd, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.source.answers(func(_ int, r *http.Request) (*http.Response, error) { return test.answer(r) })
				w.start(options{})
				id := w.imported(test.url)
				w.pass(3 * time.Minute)
				w.wantStatus(id, records.ArchiveFailed, test.reason)
				if got := len(w.source.times("/i")); got != test.asked {
					t.Errorf("asked %d times, want %d", got, test.asked)
				}
				w.wantJobs(id)
				w.wantEmpty("spool")
				w.wantEmpty("objects")
				if n := w.log.count("paused"); n > 0 {
					t.Errorf("the store was paused for the source's failure")
				}
			})
		})
	}
}

// brokenBody is a connection that breaks.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestLinkThatDiesBetweenAttemptsHasExpired(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		expires := time.Now().Add(time.Minute)
		w.source.answers(func(int, *http.Request) (*http.Response, error) {
			if time.Now().Before(expires) {
				return answer(503, nil), nil
			}
			return answer(403, []byte("denied")), nil
		})
		w.start(options{archive: archive.Config{MaxAttempts: 20}})
		id := w.imports(records.ImportItem{URL: "https://source.example/a.png", ExpiresAt: records.At(expires)})[0].ID
		w.pass(3 * time.Minute)
		w.wantStatus(id, records.ArchiveFailed, fetch.Expired)
		for _, at := range w.source.times("/a.png")[:5] {
			if at >= time.Minute {
				t.Errorf("the first attempts came at %v, all of them should have come before the link died", w.source.times("/a.png"))
			}
		}
	})
}

func TestConcurrencyNeverExceedsTheSlots(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		var mu sync.Mutex
		now, most := 0, 0
		w.source.answers(func(_ int, r *http.Request) (*http.Response, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return ok(picture(r.URL.Path)), nil
		})
		w.start(options{archive: archive.Config{Slots: 3}})
		items := make([]records.ImportItem, 30)
		for n := range items {
			items[n].URL = fmt.Sprintf("https://s%d.example/%d.png", n, n)
		}
		images := w.imports(items...)
		w.pass(15 * time.Second)
		for n, i := range images {
			w.wantArchived(i.ID, picture(fmt.Sprintf("/%d.png", n)))
		}
		if most != 3 {
			t.Errorf("%d ran together, want 3", most)
		}
	})
}

func TestOriginsAreTheProvidersOwn(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.start(options{
			archive: archive.Config{Origins: map[string][]string{"home": {"http://192.168.1.5:8188"}}},
			worker:  jobs.Config{Sweep: 30 * time.Second},
		})
		imported := w.imports(records.ImportItem{URL: "http://192.168.1.5:8188/view", Provider: "home"})[0].ID
		w.pass(time.Second)
		w.wantStatus(imported, records.ArchiveFailed, fetch.Blocked)
		// The same link, made by that provider.
		w.Exec(t, `UPDATE images SET import_id = NULL, status = 'generated', reason = '' WHERE id = ?`, imported)
		w.pass(time.Minute)
		w.wantArchived(imported, picture("/view"))
	})
}

// What people and operators can read never holds a link's query: it is a key.
func TestSecretsOfALinkAreNowhere(t *testing.T) {
	const secret = "c4n4ry5ecret"
	url := "https://source.example/%s.png?X-Amz-Signature=" + secret + "&token=" + secret
	answers := map[string]func() (*http.Response, error){
		"/ok.png":       func() (*http.Response, error) { return ok(picture("a")), nil },
		"/page.png":     func() (*http.Response, error) { return ok([]byte("<html>no " + secret + " here")), nil },
		"/denied.png":   func() (*http.Response, error) { return answer(403, []byte("<Error>"+secret+"</Error>")), nil },
		"/error.png":    func() (*http.Response, error) { return nil, fmt.Errorf("Get %q: refused", fmt.Sprintf(url, "error")) },
		"/half.png":     func() (*http.Response, error) { return ok(picture("a")[:60]), nil },
		"/redirect.png": func() (*http.Response, error) { return answer(302, nil, "Location", "ftp://x/?k="+secret), nil },
	}
	bubble(t, func(t *testing.T, w *world) {
		w.source.answers(func(_ int, r *http.Request) (*http.Response, error) {
			if r.URL.RawQuery != "X-Amz-Signature="+secret+"&token="+secret {
				t.Errorf("the query was changed: %s", r.URL.RawQuery)
			}
			return answers[r.URL.Path]()
		})
		w.start(options{})
		for path := range answers {
			w.imported(fmt.Sprintf(url, strings.TrimSuffix(path[1:], ".png")))
		}
		w.imported("https://10.0.0.1/blocked.png?sig=" + secret)
		w.pass(time.Second)
		w.store.fails(down())
		w.imported(fmt.Sprintf(url, "ok"))
		w.pass(3 * time.Minute)
		w.store.fails(nil)
		w.pass(3 * time.Minute)
		if w.log.count(secret) > 0 {
			t.Errorf("the log holds the secret:\n%s", w.log)
		}
		for _, query := range []string{
			`SELECT count(*) FROM image_events WHERE detail LIKE ?`,
			`SELECT count(*) FROM jobs WHERE last_error LIKE ?`,
			`SELECT count(*) FROM images WHERE status = 'archived' AND source_url LIKE ?`,
			`SELECT count(*) FROM images WHERE provider_message LIKE ?`,
		} {
			var n int
			w.Get(t, &n, query, "%"+secret+"%")
			if n > 0 {
				t.Errorf("%d rows hold the secret: %s", n, query)
			}
		}
	})
}
