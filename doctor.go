package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"afterimage/fetch"
	"afterimage/generate"
	"afterimage/storage"
)

const doctorUse = `Use: afterimage doctor [--json]
Tries out everything that the settings name, and names the variable to change where something is wrong. It reads and
writes a few small objects and files of its own; no image is made and nothing is paid.
  ✓ works   ! works, but look at it   ✗ does not work   – could not be checked
Exit code 1 if anything does not work.`

// grade is how a check ended.
type grade string

const (
	works     grade = "pass"
	attention grade = "warn"
	broken    grade = "fail"
	unchecked grade = "skip"
)

var marks = map[grade]string{works: "✓", attention: "!", broken: "✗", unchecked: "–"}

// finding is what one check found.
type finding struct {
	Check   string  `json:"check"`
	Status  grade   `json:"status"`
	Text    string  `json:"text"`
	Setting string  `json:"setting,omitempty"` // the variable to change
	Millis  float64 `json:"milliseconds"`
}

func fine(format string, args ...any) finding {
	return finding{Status: works, Text: fmt.Sprintf(format, args...)}
}

func skip(format string, args ...any) finding {
	return finding{Status: unchecked, Text: fmt.Sprintf(format, args...)}
}

func look(setting, format string, args ...any) finding {
	return finding{Status: attention, Setting: setting, Text: fmt.Sprintf(format, args...)}
}

func wrong(setting, format string, args ...any) finding {
	return finding{Status: broken, Setting: setting, Text: fmt.Sprintf(format, args...)}
}

// failed is wrong with an error's own words, and its own setting if it has one.
func failed(err error, setting string) finding {
	if e, ok := errors.AsType[*storage.Error](err); ok && e.Setting != "" {
		setting = e.Setting
	}
	if e, ok := errors.AsType[*generate.Error](err); ok && e.Setting != "" {
		setting = e.Setting
	}
	if e, ok := errors.AsType[*fetch.Error](err); ok && e.Setting != "" {
		setting = e.Setting
	}
	return wrong(setting, "%v", err)
}

// checkup runs the checks one after another and prints each when it is done.
type checkup struct {
	ctx      context.Context
	config   Config
	program  program
	client   *fetch.Client
	out      io.Writer // nil: nothing is printed on the way
	findings []finding
}

// checkTime bounds one check.
const checkTime = 20 * time.Second

func (d *checkup) check(name string, try func(ctx context.Context) finding) finding {
	ctx, cancel := context.WithTimeout(d.ctx, checkTime)
	defer cancel()
	began := time.Now()
	f := try(ctx)
	f.Check, f.Millis = name, float64(time.Since(began).Microseconds())/1000
	d.findings = append(d.findings, f)
	if d.out != nil {
		f.write(d.out)
	}
	return f
}

func (f finding) write(w io.Writer) {
	text := f.Text
	if f.Status != works && !strings.Contains(f.Text, f.Setting) {
		text += " → " + f.Setting
	}
	took := "" // of what was not tried
	if f.Status != unchecked {
		took = fmt.Sprintf("%.1f ms", f.Millis)
	}
	fmt.Fprintf(w, "%s %-18s %11s  %s\n", marks[f.Status], f.Check, took, text)
}

func (d *checkup) count(g grade) (n int) {
	for _, f := range d.findings {
		if f.Status == g {
			n++
		}
	}
	return n
}

// status is the worst that was found.
func (d *checkup) status() grade {
	switch {
	case d.count(broken) > 0:
		return broken
	case d.count(attention) > 0:
		return attention
	}
	return works
}

func doctor(ctx context.Context, p program, args []string) error {
	given, err := onlyFlags(args, "doctor [--json]", "--json")
	if err != nil {
		return err
	}
	d := &checkup{ctx: ctx, program: p, out: p.out}
	if given["--json"] {
		d.out = nil
	}
	if err := d.all(); err != nil {
		return err
	}
	if given["--json"] {
		err = writeJSON(p.out, struct {
			Status grade     `json:"status"`
			Checks []finding `json:"checks"`
		}{d.status(), d.findings})
	}
	if n := d.count(broken); n > 0 {
		return errors.Join(err, fmt.Errorf("%d of %d checks failed", n, len(d.findings)))
	}
	return err
}

// all checks the settings and, if they can be used, everything that they name.
func (d *checkup) all() error {
	if !d.settings() {
		d.check("everything else", func(context.Context) finding {
			return skip("the settings have to be mended first")
		})
		return nil
	}
	var err error
	if d.client, err = newFetch(d.config.Archive); err != nil {
		return err
	}
	defer d.client.Close()
	d.machine()
	made := d.dataFolder()
	d.database(made)
	d.store(made)
	d.providers()
	d.outside()
	d.baseURL()
	return nil
}

// settings reports each problem, and whether the app would start.
func (d *checkup) settings() bool {
	c, problems := d.program.settings()
	d.config = c
	for _, p := range problems {
		d.check("settings", func(context.Context) finding {
			f := wrong(p.Name, "%s", p)
			if p.Warning {
				f.Status = attention
			}
			return f
		})
	}
	if len(problems) == 0 {
		given := 0
		for _, s := range c.Effective {
			if s.Origin != "default" {
				given++
			}
		}
		d.check("settings", func(context.Context) finding { return fine("%d given, %d by default", given, len(c.Effective)-given) })
	}
	return !fatal(problems)
}
