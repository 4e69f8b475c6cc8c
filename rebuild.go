package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"afterimage/archive"
	"afterimage/records"
)

// rebuild restores histories from what lies in the store beside the images.
func rebuild(ctx context.Context, p program, args []string) error {
	given, err := onlyFlags(args, "rebuild [--json]", "--json")
	if err != nil {
		return err
	}
	return withDatabase(ctx, p, func(c Config, db *records.DB) error {
		store, err := newStore(ctx, c)
		if err != nil {
			return err
		}
		line := newProgress(p)
		found, err := archive.Rebuild(ctx, db, store, func(r archive.Rebuilt) {
			line.say(0, 0, fmt.Sprintf("%d images restored", r.Images))
		})
		line.clear()
		if _, ok := errors.AsType[*records.NotTheSameError](err); ok {
			return fmt.Errorf("%w; nothing was written: rebuild fills an empty database, set DATABASE_URL or AFTERIMAGE_DATA_DIR to one", err)
		}
		if err != nil {
			return fmt.Errorf("%w; run it again to go on", err)
		}
		if given["--json"] {
			err = writeJSON(p.out, found)
		} else {
			writeRebuilt(p.out, found)
		}
		if err == nil && found.Unreadable > 0 {
			err = fmt.Errorf("%d sidecars could not be read, so their images are not restored", found.Unreadable)
		}
		return err
	})
}

func writeRebuilt(w io.Writer, found archive.Rebuilt) {
	fmt.Fprintf(w, "restored %d images of %d generations and %d imports; %d were there already\n",
		found.Images, found.Generations, found.Imports, found.Same)
	some := func(n int, what string, which []string) {
		if n > 0 {
			fmt.Fprintf(w, "%d %s: %s\n", n, what, strings.Join(which, " ")+more(n-len(which)))
		}
	}
	some(found.Missing, "have lost their object and are restored as failed", found.MissingIDs)
	some(found.Resized, "have an object of another size than they should; afterimage verify says more", found.ResizedIDs)
	some(found.WithoutSidecar, "objects have no sidecar, so nobody knows whose they are; they are left alone", found.WithoutIDs)
	some(found.Unreadable, "sidecars cannot be read; they are left alone", found.UnreadableKeys)
	if found.Thumbnails > 0 {
		fmt.Fprintf(w, "the thumbnails of %d images will be drawn when the app runs\n", found.Thumbnails)
	}
	if found.Users > 0 {
		fmt.Fprintf(w, "%d accounts were made without a password, since no password is kept in the store.\n"+
			"Give each one with afterimage user password NAME (afterimage user list shows them);\n"+
			"the setup link makes one of them the administrator.\n", found.Users)
	}
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}
