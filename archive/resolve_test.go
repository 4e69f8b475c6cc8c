package archive_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"afterimage/archive"
	"afterimage/fetch"
	"afterimage/records"
	"afterimage/storage"
)

// A link that died before its image was fetched is no loss while its provider
// still has the image: it is asked for another link, once, before that is final.
func TestDeadLinkIsAskedForAgain(t *testing.T) {
	const fresh = "https://source.example/fresh.png?sig=%2B2"
	gives := func(url string, err error) archive.Resolve {
		return func(context.Context, *records.Image) (string, time.Time, error) { return url, time.Time{}, err }
	}
	tests := []struct {
		name     string
		status   int    // of the first link's answer
		page     string // its body
		fresh    int    // status of the other link's answer; default the image
		over     bool   // the first link's time is over
		resolve  archive.Resolve
		want     records.Status
		reason   string
		resolved int // times the provider was asked
		asked    int // times the dead link was
	}{
		{name: "404, and there is another", status: 404, resolve: gives(fresh, nil), want: records.Archived, resolved: 1, asked: 1},
		{name: "403, and there is another", status: 403, page: "<Error>AccessDenied</Error>", resolve: gives(fresh, nil), want: records.Archived, resolved: 1, asked: 1},
		{name: "410, and there is none", status: 410, resolve: gives("", nil), want: records.ArchiveFailed, reason: fetch.Missing, resolved: 1, asked: 1},
		{name: "403, and it is the same", status: 403, resolve: gives("https://source.example/a.png", nil), want: records.ArchiveFailed, reason: fetch.Expired, resolved: 1, asked: 1},
		{name: "404, and the other is dead too", status: 404, fresh: 410, resolve: gives(fresh, nil), want: records.ArchiveFailed, reason: fetch.Missing, resolved: 1, asked: 1},
		{name: "404, and the other leads inside", status: 404, resolve: gives("http://10.0.0.1/a.png", nil), want: records.ArchiveFailed, reason: fetch.Blocked, resolved: 1, asked: 1},
		{name: "a page after the link's end", status: 200, page: "<html>this link has expired", over: true, resolve: gives(fresh, nil), want: records.Archived, resolved: 1, asked: 1},
		{name: "a page before it", status: 200, page: "<html>hello", resolve: gives(fresh, nil), want: records.ArchiveFailed, reason: fetch.NotImage, resolved: 0, asked: 1},
		{name: "404, and nobody answers", status: 404, resolve: gives("", errors.New("status 503")), want: records.ArchiveFailed, reason: fetch.Missing, resolved: 3, asked: 3},
		{name: "503 is no dead link", status: 503, resolve: gives(fresh, nil), want: records.ArchiveFailed, reason: fetch.Odd, resolved: 0, asked: 3},
		{name: "nobody can be asked", status: 404, want: records.ArchiveFailed, reason: fetch.Missing, resolved: 0, asked: 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, w *world) {
				w.source.answers(func(_ int, r *http.Request) (*http.Response, error) {
					switch {
					case r.URL.Path == "/a.png":
						return answer(test.status, []byte(test.page)), nil
					case test.fresh != 0:
						return answer(test.fresh, nil), nil
					case r.URL.RawQuery != "sig=%2B2":
						t.Errorf("the new link went out as %s", r.URL)
					}
					return ok(picture("a")), nil
				})
				resolved := 0
				o := options{}
				if test.resolve != nil {
					o.archive.Resolve = func(ctx context.Context, i *records.Image) (string, time.Time, error) {
						resolved++
						return test.resolve(ctx, i)
					}
				}
				id := w.handWritten(records.Generated, "https://source.example/a.png", "")
				if test.over {
					w.Exec(t, `UPDATE images SET source_expires_at = ? WHERE id = ?`, w.Now().Add(-time.Minute), id)
				}
				w.job("j", id)
				w.start(o)
				w.pass(3 * time.Minute)
				w.wantStatus(id, test.want, test.reason)
				if asked := len(w.source.times("/a.png")); resolved != test.resolved || asked != test.asked {
					t.Errorf("the provider was asked %d times and the dead link %d times; want %d and %d", resolved, asked, test.resolved, test.asked)
				}
			})
		})
	}
}

// A link that people gave is nobody's to ask for, even if they name a provider.
func TestImportedLinkIsNotAskedForAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		w.sourceIsDead()
		w.start(options{archive: archive.Config{Resolve: func(context.Context, *records.Image) (string, time.Time, error) {
			t.Error("the provider was asked for an import")
			return "", time.Time{}, nil
		}}})
		id := w.imports(records.ImportItem{URL: "https://source.example/a.png", Provider: "home"})[0].ID
		w.pass(time.Second)
		w.wantStatus(id, records.ArchiveFailed, fetch.Missing)
	})
}

// The new link is as good as the first one: it is kept for the next attempt,
// with the time of its death.
func TestNewLinkIsKept(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		const fresh = "https://source.example/fresh.png?X-Amz-Date=20260301T120000Z&X-Amz-Expires=86400&X-Amz-Signature=a%2Fb"
		resolved := 0
		w.source.answers(func(nth int, r *http.Request) (*http.Response, error) {
			switch {
			case r.URL.Path == "/a.png":
				return answer(404, nil), nil
			case nth == 1:
				return answer(503, nil), nil
			}
			return ok(picture("a")), nil
		})
		id := w.handWritten(records.Generated, "https://source.example/a.png", "")
		w.job("j", id)
		w.start(options{archive: archive.Config{Resolve: func(context.Context, *records.Image) (string, time.Time, error) {
			resolved++
			return fresh, time.Time{}, nil
		}}})
		w.pass(time.Second)
		i := w.wantStatus(id, records.RetryWait, fetch.Odd)
		if i.SourceURL != fresh || !i.SourceExpiresAt.Equal(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)) {
			t.Errorf("source %q until %v", i.SourceURL, i.SourceExpiresAt)
		}
		w.pass(time.Minute)
		w.wantArchived(id, picture("a"))
		if n := len(w.source.times("/a.png")); n != 1 || resolved != 1 {
			t.Errorf("the dead link was asked %d times, the provider %d times; want once", n, resolved)
		}
	})
}

// Bytes that came without a link are gone with the spool's disk, unless the
// provider can still give one.
func TestLostFileIsAskedForAgain(t *testing.T) {
	bubble(t, func(t *testing.T, w *world) {
		id := w.handWritten(records.Generated, "", w.spool.ID())
		w.job("j", id)
		w.store.fails(down())
		w.start(options{archive: archive.Config{Resolve: func(context.Context, *records.Image) (string, time.Time, error) {
			return "https://source.example/a.png", time.Time{}, nil
		}}})
		w.pass(time.Second)
		w.wantStatus(id, records.Archiving, storage.ReasonUnreachable)
		w.store.fails(nil)
		w.pass(6 * time.Second)
		w.wantArchived(id, picture("/a.png"))
	})
}
