package archive

import (
	stdbytes "bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"afterimage/records"
	"afterimage/storage"
)

// Target takes the files of an export: a Folder or a Zip. Names have slashes
// and are UTF-8.
type Target interface {
	// Has reports whether a file is there already, whole, from an earlier run.
	Has(name string, size int64) bool
	// Put writes a file, all or nothing where that is possible.
	Put(name string, modified time.Time, body io.Reader) error
}

// Export says what to export.
type Export struct {
	UserID string // empty: everybody's
	// Next returns the next of the images to export, none at the end; nil: all.
	Next     func(ctx context.Context) ([]records.Image, error)
	Failed   func(id string, err error)
	Progress func(Exported)
}

// Exported is how much was exported.
type Exported struct {
	Total   int   `json:"total"`   // images there are
	Images  int   `json:"images"`  // of them, with their file
	Same    int   `json:"same"`    // of these, were there from an earlier run
	Without int   `json:"without"` // have no bytes: failed, or not there yet
	Failed  int   `json:"failed"`  // have bytes that could not be read or are damaged
	Bytes   int64 `json:"bytes"`
}

// ExportLine is a line of images.jsonl: what is known of one image.
type ExportLine struct {
	Sidecar
	Status records.Status `json:"status"`
	Reason string         `json:"reason,omitempty"`
	File   string         `json:"file,omitempty"` // empty: its bytes are not in the export
}

const (
	exportBatch = 200
	// ExportList and ExportSums are the files that an export ends with. The sums
	// are as sha256sum --check reads them.
	ExportList = "images.jsonl"
	ExportSums = "SHA256SUMS"
)

// Export writes images with a sidecar beside each, images.jsonl with a line for
// every image in any state, and SHA256SUMS. Each image is compared with its
// hash on the way; one that is damaged or cannot be read is told and left out.
// However many images there are, only one is in memory at a time.
func (a *Archiver) Export(ctx context.Context, t Target, o Export) (Exported, error) {
	e := &export{Archiver: a, Export: o, target: t}
	var err error
	if o.Next == nil {
		if e.done.Total, err = a.DB.CountAll(ctx, o.UserID); err != nil {
			return e.done, err
		}
		e.Next = e.all()
	}
	if e.lines, err = a.Spool.Create("export-lines"); err != nil {
		return e.done, err
	}
	defer e.lines.Close()
	if e.sums, err = a.Spool.Create("export-sums"); err != nil {
		return e.done, err
	}
	defer e.sums.Close()
	if err := e.run(ctx); err != nil {
		return e.done, fmt.Errorf("export: %w", err)
	}
	return e.done, nil
}

type export struct {
	*Archiver
	Export
	target      Target
	lines, sums *storage.Draft // of images.jsonl and SHA256SUMS, on disk until the end
	done        Exported
}

func (e *export) run(ctx context.Context) error {
	for {
		page, err := e.Next(ctx)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for n := range page {
			if err := e.image(ctx, &page[n]); err != nil {
				return err
			}
			if e.Progress != nil {
				e.Progress(e.done)
			}
		}
	}
	if err := e.target.Put(ExportList, time.Now(), e.lines.Reader()); err != nil {
		return err
	}
	return e.target.Put(ExportSums, time.Now(), e.sums.Reader())
}

// all are all images in the order of their ids.
func (e *export) all() func(ctx context.Context) ([]records.Image, error) {
	after := ""
	return func(ctx context.Context) ([]records.Image, error) {
		page, err := e.DB.ImagesAfter(ctx, e.UserID, after, exportBatch)
		if len(page) > 0 {
			after = page[len(page)-1].ID
		}
		return page, err
	}
}

// image exports one image.
func (e *export) image(ctx context.Context, i *records.Image) error {
	origin, err := e.DB.Origin(ctx, i)
	if errors.Is(err, records.ErrNotFound) {
		return nil // deleted meanwhile
	}
	if err != nil {
		return err
	}
	line := ExportLine{Sidecar: newSidecar(i, origin), Status: i.Status, Reason: i.Reason}
	switch err := e.bytes(ctx, i, &line); {
	case errors.Is(err, errNoBytes):
		e.done.Without++
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		if _, target := errors.AsType[*targetError](err); target {
			return err
		}
		e.done.Failed++
		if e.Failed != nil {
			e.Failed(i.ID, err)
		}
	default:
		e.done.Images++
	}
	return json.NewEncoder(e.lines).Encode(line)
}

// errNoBytes says that there is nothing to export of an image but its line.
var errNoBytes = errors.New("the image has no bytes")

// targetError is a failure of where the export goes, which ends it.
type targetError struct{ error }

func (e *targetError) Unwrap() error { return e.error }

// bytes exports the bytes of an image and its sidecar.
func (e *export) bytes(ctx context.Context, i *records.Image, line *ExportLine) error {
	inSpool := i.SpoolID != "" && i.SpoolID == e.Spool.ID() && i.MIME != ""
	if i.Status != records.Archived && !inSpool {
		return errNoBytes
	}
	name := exportName(line.Owner, i)
	if !e.target.Has(name, i.Bytes) {
		b, err := e.read(ctx, i)
		if err != nil {
			return err
		}
		defer b.Close()
		if err := e.target.Put(name, i.CreatedAt.Time, b.Reader()); err != nil {
			return &targetError{err}
		}
	} else {
		e.done.Same++
	}
	line.File = name
	e.done.Bytes += i.Bytes
	side, err := json.MarshalIndent(line.Sidecar, "", "  ")
	if err != nil {
		return err
	}
	sideName := name[:strings.LastIndexByte(name, '.')] + ".json"
	if err := e.target.Put(sideName, i.CreatedAt.Time, stdbytes.NewReader(side)); err != nil {
		return &targetError{err}
	}
	_, err = fmt.Fprintf(e.sums, "%s  %s\n%x  %s\n", i.SHA256, name, sha256.Sum256(side), sideName)
	return err
}

// read gets an image's bytes and makes sure that they are what was stored,
// before anything is written that could not be taken back.
func (e *export) read(ctx context.Context, i *records.Image) (bytes, error) {
	var body io.ReadCloser
	var err error
	if i.Status == records.Archived {
		body, _, err = e.Store.Open(ctx, i.ObjectKey, 0, -1)
	} else {
		body, err = e.Spool.Open(i.ID)
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	b := newScratch(e.Spool, "export-image")
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(b, h), io.LimitReader(body, i.Bytes+1))
	if err == nil && fmt.Sprintf("%x", h.Sum(nil)) != i.SHA256 {
		err = errors.New("the stored image is damaged: its SHA-256 is another one than its record says")
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// exportName is where an image lies in an export: by owner, and readable.
func exportName(owner string, i *records.Image) string {
	_, ext, _ := strings.Cut(i.MIME, "/")
	if ext == "jpeg" {
		ext = "jpg"
	}
	name := []string{i.CreatedAt.Format(time.DateOnly), firstWords(i.Prompt), i.ID + "." + ext}
	return "images/" + owner + "/" + strings.ReplaceAll(strings.Join(name, "-"), "--", "-")
}

// firstWords are the beginning of a prompt as every file system takes it, in
// any script.
func firstWords(prompt string) string {
	var b strings.Builder
	n := 0
	for _, c := range prompt {
		if n++; n > 40 {
			break
		}
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			b.WriteRune(c)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	return strings.Trim(b.String(), "-")
}
