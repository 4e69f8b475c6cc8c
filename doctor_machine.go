package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"afterimage/storage"
)

// slotsPerCPU is how many images at once a CPU takes; they mostly wait for the
// network (docs/benchmarks.md).
const slotsPerCPU = 16

// machine looks at what every part relies on.
func (d *checkup) machine() {
	d.check("time zone", func(context.Context) finding { return checkZone(environValue(d.program.environ, "TZ")) })
	d.check("slots", func(context.Context) finding {
		slots, cpus := d.config.Archive.Concurrency, runtime.GOMAXPROCS(0)
		if slots > slotsPerCPU*cpus {
			return look("IMAGE_ARCHIVE_CONCURRENCY", "%d slots are many for %d CPUs: %d use them up", slots, cpus, slotsPerCPU*cpus)
		}
		return fine("%d on %d CPUs", slots, cpus)
	})
}

// checkZone: a TZ that the system does not know means UTC, without a word.
func checkZone(tz string) finding {
	if name := strings.TrimPrefix(tz, ":"); name != "" {
		if _, err := time.LoadLocation(name); err != nil && !filepath.IsAbs(name) {
			return wrong("TZ", "there is no time zone %q, so logs are in UTC", tz)
		}
	}
	zone, offset := time.Now().Zone()
	return fine("%s, %+.1f h from UTC: for logs; daily jobs go by UTC, pages by each person's own", zone, float64(offset)/3600)
}

func environValue(environ []string, name string) (value string) {
	for _, entry := range environ {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value = v // the last one counts
		}
	}
	return value
}

// What the data folder's disk should be able to do.
const (
	littleSpace = 1 << 30                // bytes
	slowSync    = 200 * time.Millisecond // every image is synced before anything is promised
)

const dataDirSetting = "AFTERIMAGE_DATA_DIR"

// dataFolder leaves one that is missing alone: made by us, it might belong to
// another user than the app's. It reports whether there is one that can be used.
func (d *checkup) dataFolder() bool {
	dir := d.config.DataDir
	made := d.check("data folder", func(context.Context) finding { return checkFolder(dir) })
	if made.Status != works && made.Status != attention {
		return false
	}
	d.check("data folder space", func(context.Context) finding { return checkSpace(dir) })
	return d.check("data folder sync", func(context.Context) finding { return checkSync(dir) }).Status != broken
}

func checkFolder(dir string) finding {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return skip("%s is made at the first start", dir)
	case err != nil:
		return wrong(dataDirSetting, "%v", err)
	case !info.IsDir():
		return wrong(dataDirSetting, "%s is no folder", dir)
	case info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return look(dataDirSetting, "others on this machine may look into it (%s): chmod 700 %s", info.Mode(), dir)
	}
	return fine("%s, %s", dir, info.Mode())
}

func checkSpace(dir string) finding {
	free, err := storage.FreeSpace(dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return skip("this system does not say how much is free")
	case err != nil:
		return wrong(dataDirSetting, "%v", err)
	case free < littleSpace:
		return look(dataDirSetting, "only %s are free: images wait here while the store is down", readableSize(free))
	}
	return fine("%s free", readableSize(free))
}

func readableSize(n int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}} {
		if n >= unit.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(unit.size), unit.name)
		}
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// checkSync writes as an image is written: 200 KiB, synced, and given its name.
func checkSync(dir string) finding {
	began := time.Now()
	path := filepath.Join(dir, ".doctor-"+rand.Text())
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return wrong(dataDirSetting, "cannot write: %v", err)
	}
	defer os.Remove(path)
	_, err = f.Write(make([]byte, 200<<10))
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return wrong(dataDirSetting, "cannot write: %v", err)
	}
	if took := time.Since(began); took > slowSync {
		return look(dataDirSetting, "this disk is slow: it took %s to keep 200 KiB", took.Round(time.Millisecond))
	}
	return fine("200 KiB kept")
}
