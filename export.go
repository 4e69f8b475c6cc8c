package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"afterimage/archive"
	"afterimage/records"
)

const backupUse = `Use: afterimage backup FILE
Writes the SQLite database, as it is at one moment, into FILE while the app goes on. It holds secrets.
The images are not in it: they are in the store.`

func backup(ctx context.Context, p program, args []string) error {
	if len(args) != 1 || args[0] == "" || strings.HasPrefix(args[0], "-") {
		return usageError(backupUse)
	}
	return withDatabase(ctx, p, func(_ Config, db *records.DB) error {
		if err := db.Backup(ctx, args[0]); err != nil {
			return err
		}
		info, err := os.Stat(args[0])
		if err == nil {
			fmt.Fprintf(p.out, "%s: %d bytes\n", args[0], info.Size())
		}
		return err
	})
}

const exportUse = `Use: afterimage export DIR|FILE.zip [--user NAME] [--json]
Writes every image with a sidecar beside it, images.jsonl with what is known of each, and SHA256SUMS.
An export into a folder that was broken off goes on where it was. Exit code 1 if an image could not be exported.`

func export(ctx context.Context, p program, args []string) error {
	flags := newFlags()
	username := flags.String("user", "", "")
	asJSON := flags.Bool("json", false, "")
	rest, err := parse(flags, args)
	if err != nil || len(rest) != 1 {
		return usageError(exportUse)
	}
	return withArchive(ctx, p, func(_ Config, a *archive.Archiver) error {
		line := newProgress(p)
		o := archive.Export{Failed: func(id string, err error) {
			line.clear()
			fmt.Fprintf(p.err, "image %s: %v\n", id, err)
		}}
		o.Progress = func(e archive.Exported) {
			done := e.Images + e.Without + e.Failed
			line.say(done, e.Total, fmt.Sprintf("%d of %d images, %d MB", done, e.Total, e.Bytes>>20))
		}
		if *username != "" {
			user, err := a.DB.UserByName(ctx, *username)
			if err != nil {
				return err
			}
			o.UserID = user.ID
		}
		done, err := exportTo(ctx, a, rest[0], o)
		line.clear()
		return errors.Join(err, tellExported(p, done, *asJSON))
	})
}

// exportTo exports into a folder, or into a file that gets its name when it is
// whole.
func exportTo(ctx context.Context, a *archive.Archiver, to string, o archive.Export) (done archive.Exported, err error) {
	if !strings.EqualFold(filepath.Ext(to), ".zip") {
		folder, err := archive.NewFolder(to)
		if err != nil {
			return done, err
		}
		defer folder.Close()
		return a.Export(ctx, folder, o)
	}
	if err := isZipOrNothing(to); err != nil {
		return done, err
	}
	file, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*")
	if err != nil {
		return done, err
	}
	defer os.Remove(file.Name()) // after the rename there is none
	defer file.Close()
	buffer := bufio.NewWriterSize(file, 1<<20)
	z := archive.NewZip(buffer)
	if done, err = a.Export(ctx, z, o); err != nil {
		return done, err
	}
	for _, step := range []func() error{z.Close, buffer.Flush, file.Sync} {
		if err := step(); err != nil {
			return done, err
		}
	}
	return done, os.Rename(file.Name(), to)
}

// isZipOrNothing refuses to replace a file that is no export.
func isZipOrNothing(name string) error {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	head := make([]byte, 2)
	if _, err := io.ReadFull(file, head); err != nil || string(head) != "PK" {
		return fmt.Errorf("%s is there already and is no zip: name another file", name)
	}
	return nil
}

func tellExported(p program, e archive.Exported, asJSON bool) error {
	if asJSON {
		if err := writeJSON(p.out, e); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(p.out, "%d of %d images exported, %d bytes; %d were there already, %d have no bytes, %d failed\n",
			e.Images, e.Total, e.Bytes, e.Same, e.Without, e.Failed)
	}
	if e.Failed > 0 {
		return fmt.Errorf("%d images could not be exported", e.Failed)
	}
	return nil
}
