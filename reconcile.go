package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"afterimage/archive"
)

const reconcileUse = `Use: afterimage reconcile [--repair] [--older-than 1h] [--anyway] [--json]
Compares the database with the store and the spool, and prints what they do not agree about. Exit code 1 if there is
something that was not repaired.
  --repair        put what nobody knows into a quarantine, from which it is deleted after 30 days by a later repair;
                  archive images once more whose object is missing, or let them say that they are lost
  --older-than T  leave alone what is younger, since it may be on its way (1h)
  --anyway        repair even if most of what there is seems to be wrong; otherwise the settings are suspected`

func reconcile(ctx context.Context, p program, args []string) error {
	flags := newFlags()
	repair := flags.Bool("repair", false, "")
	age := flags.Duration("older-than", time.Hour, "")
	anyway := flags.Bool("anyway", false, "")
	asJSON := flags.Bool("json", false, "")
	rest, err := parse(flags, args)
	if err != nil || len(rest) > 0 || *age <= 0 {
		return usageError(reconcileUse)
	}
	return withArchive(ctx, p, func(_ Config, a *archive.Archiver) error {
		line := newProgress(p)
		o := archive.Reconcile{Repair: *repair, Age: *age, Anyway: *anyway}
		o.Progress = func(r archive.Reconciled) {
			line.say(0, 0, fmt.Sprintf("%d objects, %d images, %d files in the spool: %d differences", r.Objects, r.Rows, r.Spooled, r.Total()))
		}
		if !*asJSON {
			o.Found = func(d archive.Difference) {
				line.clear()
				tellDifference(p, d)
			}
		}
		found, err := a.Reconcile(ctx, o)
		line.clear()
		return errors.Join(err, tellReconciled(p, found, *asJSON))
	})
}

// differences are the kinds as people read them.
var differences = map[string]string{
	archive.ObjectWithoutRow: "object without an image",
	archive.ObjectNotUsed:    "object that its image does not use",
	archive.ObjectMissing:    "image without its object",
	archive.ObjectSize:       "image whose object has another size",
	archive.ThumbMissing:     "image without its thumbnails",
	archive.SidecarMissing:   "image without its sidecar",
	archive.CheckLeft:        "object left by a check",
	archive.SpoolWithoutRow:  "file in the spool without an image",
	archive.SpoolNotNeeded:   "file in the spool that is not needed",
}

func tellDifference(p program, d archive.Difference) {
	name := d.Key
	if name == "" {
		name = d.Image
	}
	fmt.Fprintf(p.out, "%s: %s (%d bytes)", differences[d.Kind], name, d.Bytes)
	if d.Done != "" {
		fmt.Fprintf(p.out, ": %s", d.Done)
	}
	fmt.Fprintln(p.out)
}

func tellReconciled(p program, r archive.Reconciled, asJSON bool) error {
	if asJSON {
		if err := writeJSON(p.out, r); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(p.out, "%d objects, %d images, %d files in the spool: %d differences, %d repaired\n",
			r.Objects, r.Rows, r.Spooled, r.Total(), r.Repaired)
		for _, kind := range slices.Sorted(maps.Keys(r.Found)) {
			fmt.Fprintf(p.out, "  %d × %s\n", r.Found[kind], differences[kind])
		}
		fmt.Fprintf(p.out, "left alone: %d too young, %d with a job, %d objects that are not ours; %d removed from the quarantine\n",
			r.Young, r.Busy, r.Strangers, r.Emptied)
	}
	if left := r.Total() - r.Repaired; left > 0 {
		return fmt.Errorf("%d differences", left)
	}
	return nil
}
