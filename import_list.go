package main

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"strings"

	"afterimage/archive"
	"afterimage/archive/intake"
	"afterimage/fetch"
	"afterimage/records"
)

const (
	// importBatch is how many images are written together.
	importBatch = 200
	// importAhead is how many images whose bytes came with the list may wait in
	// the spool, so that a large export does not fill the disk a second time.
	importAhead = 500
)

// list is where items come from, and the files that belong to them.
type list struct {
	items iter.Seq[intake.Item]
	files fs.FS // of an export; nil: there are none
}

// open opens a list by its name: - is standard input, a folder or a zip an
// export of ours.
func (i *importing) open(name string) (l list, closeList func(), err error) {
	if name == "-" {
		return list{items: intake.Read(i.in)}, func() {}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return l, nil, err
	}
	if info.IsDir() {
		return openExport(os.DirFS(name), func() error { return nil })
	}
	if strings.HasSuffix(strings.ToLower(name), ".zip") {
		z, err := zip.OpenReader(name)
		if err != nil {
			return l, nil, fmt.Errorf("open %s: %w", name, err)
		}
		return openExport(z, z.Close)
	}
	file, err := os.Open(name)
	if err != nil {
		return l, nil, err
	}
	return list{items: intake.Read(file)}, func() { file.Close() }, nil
}

func openExport(files fs.FS, closeFiles func() error) (list, func(), error) {
	lines, err := files.Open(archive.ExportList)
	if err != nil {
		return list{}, nil, errors.Join(fmt.Errorf("this is no export of ours, it has no %s: %w", archive.ExportList, err), closeFiles())
	}
	return list{intake.Read(lines), files}, func() { lines.Close(); closeFiles() }, nil
}

// add puts the list into the queue.
func (i *importing) add(ctx context.Context, l list, wait bool) error {
	var items []records.ImportItem
	var lines []int
	defer func() { // what was broken off leaves nothing in the spool
		for _, item := range items {
			_ = i.dropBytes(context.WithoutCancel(ctx), item) // else CleanSpool does
		}
	}()
	flush := func() error {
		err := i.flush(ctx, items, lines)
		if err == nil {
			items, lines = items[:0], lines[:0]
		}
		return err
	}
	for found := range l.items {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		i.done.Read++
		item, err := i.item(ctx, found, l.files)
		switch e, own := errors.AsType[*ownError](err); {
		case errors.Is(err, errThere):
			i.done.There++
			continue
		case own:
			return e
		case err != nil:
			i.fails(found.Line, err.Error())
			continue
		}
		items, lines = append(items, item), append(lines, found.Line)
		if len(items) < importBatch {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
		if wait && item.SpoolID != "" && i.id != "" {
			if err := i.await(ctx, importAhead); err != nil {
				return err
			}
		}
	}
	return flush()
}

// flush writes a batch.
func (i *importing) flush(ctx context.Context, items []records.ImportItem, lines []int) (err error) {
	if len(items) == 0 {
		return nil
	}
	if i.id == "" {
		if i.id, err = i.app.db.BeginImport(ctx, i.user.ID); err != nil {
			return err
		}
	}
	images, of, err := i.app.db.AddToImport(ctx, i.user.ID, i.id, i.done.Added, items)
	if err != nil {
		return err
	}
	added := map[int]bool{}
	for n, image := range images {
		i.lines[image.ID] = lines[of[n]]
		added[of[n]] = true
	}
	for n, item := range items { // what is there already needs no file in the spool
		if !added[n] {
			if err := i.dropBytes(ctx, item); err != nil {
				return err
			}
		}
	}
	i.done.Added += len(images)
	i.done.There += len(items) - len(images)
	i.line.say(0, 0, fmt.Sprintf("%d read, %d new", i.done.Read, i.done.Added))
	return i.tellFailures(ctx)
}

// dropBytes removes an item's bytes from the spool, unless an image has its id:
// then they are that image's, which another line or another import has made.
func (i *importing) dropBytes(ctx context.Context, item records.ImportItem) error {
	if item.SpoolID == "" {
		return nil
	}
	_, err := i.app.db.ImageByLink(ctx, item.ID)
	if errors.Is(err, records.ErrNotFound) {
		return i.app.spool.Remove(item.ID)
	}
	return err
}

// ownError is our own trouble, which ends an import.
type ownError struct{ error }

func (e *ownError) Unwrap() error { return e.error }

// item makes of an item what is to be archived.
func (i *importing) item(ctx context.Context, found intake.Item, files fs.FS) (records.ImportItem, error) {
	out := records.ImportItem{URL: found.URL, Prompt: found.Prompt, NegativePrompt: found.NegativePrompt, Provider: found.Provider,
		Model: found.Model, Params: found.Params, MadeAt: records.At(found.CreatedAt), Favorite: found.Favorite}
	switch {
	case found.Err != nil:
		return out, found.Err
	case found.File != "" && files == nil:
		return out, errors.New("the line is of an export; import its folder or zip instead of the list alone")
	case found.File != "":
		return i.withFile(ctx, out, found, files)
	case found.Data != nil:
		return i.withBytes(out, strings.NewReader(string(found.Data)))
	}
	out.Key = fmt.Sprintf("url:%x", sha256.Sum256([]byte(found.URL)))
	if err := i.app.fetch.Check(fetch.Source{URL: found.URL}); err != nil {
		e, ok := errors.AsType[*fetch.Error](err)
		if !ok {
			return out, err
		}
		out.Reason, out.Detail = e.Reason, e.Error()
	}
	if at, ok := fetch.Expiry(found.URL); ok {
		out.ExpiresAt = records.At(at)
	}
	return out, nil
}

// errThere says that the database has an image of an export.
var errThere = errors.New("the image is there already")

// withFile takes the bytes from an export. An image keeps its id, and so its
// address, unless somebody here has it.
func (i *importing) withFile(ctx context.Context, out records.ImportItem, found intake.Item, files fs.FS) (records.ImportItem, error) {
	if i.ids[found.ID] {
		return out, errThere // the list has it twice
	}
	if records.IsID(found.ID) {
		switch there, err := i.app.db.ImageByLink(ctx, found.ID); {
		case errors.Is(err, records.ErrNotFound):
			out.ID = found.ID
		case err != nil:
			return out, &ownError{err}
		case there.UserID == i.user.ID && (there.SHA256 == found.SHA256 || !there.Status.Final()):
			return out, errThere
		}
	}
	file, err := files.Open(found.File)
	if err != nil {
		return out, err
	}
	defer file.Close()
	out, err = i.withBytes(out, file)
	if err == nil && records.IsID(found.ID) {
		i.ids[found.ID] = true
		out.Key = "image:" + found.ID // several may have the same bytes
	}
	return out, err
}

// withBytes secures bytes in the spool before anything is promised of them.
func (i *importing) withBytes(out records.ImportItem, body io.Reader) (records.ImportItem, error) {
	out.ID = cmp.Or(out.ID, records.NewID())
	most := i.app.config.Archive.MaxBytes
	s, err := i.app.spool.Write(out.ID, io.LimitReader(body, most+1))
	if err != nil {
		return out, &ownError{err}
	}
	if s.Size > most {
		out.SpoolID = i.app.spool.ID()
		return out, errors.Join(fmt.Errorf("the image is larger than %d bytes", most), i.dropBytes(context.Background(), out))
	}
	out.SpoolID, out.Key = i.app.spool.ID(), fmt.Sprintf("sha256:%x", s.SHA256)
	return out, nil
}
