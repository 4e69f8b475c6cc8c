package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"net/url"
	"strings"
	"time"

	"afterimage/storage"
)

// store tries each thing that the app does with the store, on objects of its
// own. A disk's lie in the data folder.
func (d *checkup) store(folder bool) {
	if d.config.S3.Bucket == "" && !folder {
		d.check("store", func(context.Context) finding { return skip("it is in the data folder") })
		return
	}
	var store storage.Store
	d.check("store", func(ctx context.Context) (f finding) {
		var err error
		if store, err = newStore(ctx, d.config); err != nil {
			return failed(err, dataDirSetting)
		}
		s3, ok := store.(*storage.S3)
		switch {
		case !ok:
			return fine("%s", store)
		case s3.PathStyle():
			return fine("%s, addressed as host/bucket (path style)", store)
		}
		return fine("%s, addressed as bucket.host", store)
	})
	if store == nil {
		return
	}
	t := newTrial(d, store)
	if d.check("store write", t.put).Status == broken {
		return // each of the others would only say so again
	}
	d.check("store read", t.read)
	d.check("store range", t.part)
	if s3, ok := store.(*storage.S3); ok {
		d.check("store checksums", func(context.Context) finding { return fine("%s", s3.Proof()) })
		d.publicURL(s3, t)
		d.check("store clock", func(ctx context.Context) finding { return checkStoreClock(ctx, s3) })
		d.check("store lifecycle", func(ctx context.Context) finding { return checkLifecycle(ctx, s3) })
	}
	d.check("store delete", t.remove)
}

// trial is two objects, one where images are and one where their sidecars are,
// which hold people's prompts.
type trial struct {
	store          storage.Store
	image, sidecar string
	content        []byte
}

func newTrial(d *checkup, store storage.Store) *trial {
	name := strings.ToLower(rand.Text())
	return &trial{store: store, image: "images/check-" + name + ".txt", sidecar: "meta/check-" + name + ".txt",
		content: []byte(strings.Repeat("afterimage doctor was here; safe to delete\n", 100) + name)}
}

func (t *trial) put(ctx context.Context) finding {
	for _, key := range []string{t.image, t.sidecar} {
		o := storage.Object{Key: key, ContentType: "text/plain", Size: int64(len(t.content)), SHA256: sha256.Sum256(t.content)}
		if _, err := t.store.Put(ctx, o, bytes.NewReader(t.content)); err != nil {
			return failed(err, "S3_ENDPOINT")
		}
	}
	return fine("2 objects of %d bytes", len(t.content))
}

func (t *trial) read(ctx context.Context) finding { return t.compare(ctx, 0, int64(len(t.content))) }

func (t *trial) part(ctx context.Context) finding { return t.compare(ctx, 1000, 100) }

func (t *trial) compare(ctx context.Context, offset, length int64) finding {
	body, _, err := t.store.Open(ctx, t.image, offset, length)
	if err != nil {
		return failed(err, "S3_ENDPOINT")
	}
	defer body.Close()
	got, err := io.ReadAll(io.LimitReader(body, length+1))
	if err != nil {
		return failed(err, "S3_ENDPOINT")
	}
	if !bytes.Equal(got, t.content[offset:offset+length]) {
		return wrong("S3_ENDPOINT", "other bytes came back than were stored")
	}
	return fine("%d bytes, as they were stored", length)
}

func (t *trial) remove(ctx context.Context) finding {
	for _, key := range []string{t.image, t.sidecar} {
		if err := t.store.Delete(ctx, key); err != nil {
			return failed(err, "S3_ACCESS_KEY_ID")
		}
	}
	switch _, err := t.store.Stat(ctx, t.image); {
	case err == nil:
		return wrong("S3_ENDPOINT", "the object is still there")
	case !errors.Is(err, storage.ErrNotFound):
		return wrong("S3_ACCESS_KEY_ID", "a missing object has to be reported as missing, which needs the permission to list the bucket: %v", err)
	}
	return fine("deleted, and reported as missing")
}

// publicURL looks with the eyes of strangers: images are for them, sidecars and
// the list of everything are not.
func (d *checkup) publicURL(s3 *storage.S3, t *trial) {
	const setting = "S3_PUBLIC_URL"
	if d.config.S3.PublicURL == "" || d.config.ImageAccess == "login" {
		d.check("store public URL", func(context.Context) finding { return skip("images pass through the app") })
		return
	}
	d.check("store public URL", func(ctx context.Context) finding {
		status, body, err := d.get(ctx, s3.PublicURL(t.image), len(t.content)+1)
		switch {
		case err != nil:
			return failed(err, setting)
		case status != nethttp.StatusOK:
			return wrong(setting, "strangers get status %d for an image: allow everybody to read images/* and thumbs/*", status)
		case !bytes.Equal(body, t.content):
			return wrong(setting, "it answers other bytes than were stored: is it this bucket, with S3_PREFIX?")
		}
		return fine("an image can be read there")
	})
	d.check("store privacy", func(ctx context.Context) finding {
		status, body, err := d.get(ctx, s3.PublicURL(t.sidecar), len(t.content)+1)
		if err != nil {
			return failed(err, setting)
		}
		if status == nethttp.StatusOK && bytes.Equal(body, t.content) {
			return wrong(setting, "strangers can read meta/*, which holds people's prompts: make only images/* and thumbs/* public")
		}
		status, body, err = d.get(ctx, d.config.S3.PublicURL+"/?list-type=2&max-keys=1", 64<<10)
		if err == nil && status == nethttp.StatusOK && bytes.Contains(body, []byte("<ListBucketResult")) {
			return wrong(setting, "strangers can list the bucket and so find everybody's images: take that permission away")
		}
		return fine("strangers can neither read sidecars nor list the bucket")
	})
}

// get asks as a stranger, without a key, for an address that the settings name.
func (d *checkup) get(ctx context.Context, address string, limit int) (status int, body []byte, err error) {
	answer, err := d.ask(ctx, address, nil)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, int64(limit)))
	return answer.StatusCode, body, err
}

// ask makes one request through the guarded client; errors are without the URL.
func (d *checkup) ask(ctx context.Context, address string, header nethttp.Header) (*nethttp.Response, error) {
	r, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("this is no address")
	}
	if header != nil {
		r.Header = header
	}
	answer, err := d.client.HTTPClient(address).Do(r)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = fmt.Errorf("%s does not answer: %w", r.URL.Host, e.Err)
	}
	return answer, err
}

// skewed is how far apart clocks may be: S3 refuses requests from 15 min on.
const skewed = 30 * time.Second

func checkStoreClock(ctx context.Context, s3 *storage.S3) finding {
	ahead, ok, err := s3.Clock(ctx)
	switch {
	case err != nil:
		return failed(err, "S3_BUCKET")
	case !ok:
		return skip("the server does not say its time")
	case ahead.Abs() > skewed:
		return wrong("", "this machine's clock is %s ahead of the server's, which refuses requests at 15 min: set it by NTP", ahead.Round(time.Second))
	}
	return fine("less than %s apart", max(ahead.Abs().Truncate(time.Second)+time.Second, time.Second))
}

func checkLifecycle(ctx context.Context, s3 *storage.S3) finding {
	harmful, err := s3.Lifecycle(ctx)
	if e, ok := errors.AsType[*storage.Error](err); ok && e.Status != 0 {
		if e.Status == nethttp.StatusForbidden {
			return skip("this key may not read the bucket's rules: see yourself that none deletes objects")
		}
		return skip("the server has no such rules, or does not tell them (status %d)", e.Status)
	}
	if err != nil {
		return failed(err, "S3_ENDPOINT")
	}
	if len(harmful) > 0 {
		return wrong("S3_BUCKET", "%s: remove this rule, or limit it to another prefix", strings.Join(harmful, "; "))
	}
	return fine("no rule takes images away")
}
