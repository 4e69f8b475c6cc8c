package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"runtime/debug"
	"slices"
	"text/tabwriter"
	"time"

	"afterimage/records"
)

// withDatabase runs fn on the database that the settings name.
func withDatabase(ctx context.Context, p program, fn func(Config, *records.DB) error) error {
	c, err := loadConfig(p)
	if err != nil {
		return err
	}
	db, err := connect(ctx, c)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := useSchema(ctx, db); err != nil {
		return err
	}
	return fn(c, db)
}

// useSchema makes the schema in an empty database, and leaves another one
// alone: the app may be running on it.
func useSchema(ctx context.Context, db *records.DB) error {
	list, err := db.Migrations(ctx)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(list, func(m records.Migration) bool { return m.Newer }); i >= 0 {
		return fmt.Errorf("the database has schema %d, which this program does not know: install the newer version again", list[i].Version)
	}
	applied := slices.ContainsFunc(list, func(m records.Migration) bool { return !m.AppliedAt.IsZero() })
	missing := slices.ContainsFunc(list, func(m records.Migration) bool { return m.AppliedAt.IsZero() })
	switch {
	case !applied:
		return db.Migrate(ctx)
	case missing:
		return errors.New("the database has an older schema: start the app once, or run afterimage migrate")
	}
	return nil
}

// onlyFlags takes the named flags out of the arguments and refuses what is
// left.
func onlyFlags(args []string, use string, flags ...string) (map[string]bool, error) {
	given := map[string]bool{}
	for _, a := range args {
		if !slices.Contains(flags, a) {
			return nil, usageError("Use: afterimage " + use)
		}
		given[a] = true
	}
	return given, nil
}

func migrate(ctx context.Context, p program, args []string) error {
	given, err := onlyFlags(args, "migrate [status] [--json]", "status", "--json")
	if err != nil {
		return err
	}
	c, err := loadConfig(p)
	if err != nil {
		return err
	}
	db, err := connect(ctx, c)
	if err != nil {
		return err
	}
	defer db.Close()
	if !given["status"] {
		if err := db.Migrate(ctx); err != nil {
			return err
		}
	}
	list, err := db.Migrations(ctx)
	if err != nil {
		return err
	}
	if given["--json"] {
		return writeJSON(p.out, list)
	}
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, m := range list {
		state := "not applied"
		if !m.AppliedAt.IsZero() {
			state = "applied " + m.AppliedAt.Format(time.RFC3339)
		}
		if m.Newer {
			state += ", by a newer version"
		}
		fmt.Fprintf(table, "%04d\t%s\t%s\n", m.Version, m.Name, state)
	}
	return table.Flush()
}

func showConfig(_ context.Context, p program, args []string) error {
	given, err := onlyFlags(args, "config [--json]", "--json")
	if err != nil {
		return err
	}
	c, problems := p.settings()
	if err := writeConfig(p.out, c, given["--json"]); err != nil {
		return err
	}
	writeProblems(p.err, problems)
	if fatal(problems) {
		return usageError("The app would not start with these settings.")
	}
	return nil
}

func setupLink(ctx context.Context, p program, args []string) error {
	if _, err := onlyFlags(args, "setup-link"); err != nil {
		return err
	}
	return withDatabase(ctx, p, func(c Config, db *records.DB) error {
		needed, err := db.NeedsSetup(ctx)
		if err != nil {
			return err
		}
		if !needed {
			return fmt.Errorf("%w; sign in, or set a new password: afterimage user password NAME", records.ErrSetupDone)
		}
		token, err := db.NewSetupToken(ctx)
		if err == nil {
			printSetupLink(p, c.BaseURL, token)
		}
		return err
	})
}

// sweep does one round on the database. It starts no worker and, like any
// round, leaves alone what a living instance runs.
func sweep(ctx context.Context, p program, args []string) error {
	given, err := onlyFlags(args, "sweep [--json]", "--json")
	if err != nil {
		return err
	}
	return withDatabase(ctx, p, func(_ Config, db *records.DB) error {
		found, err := db.Sweep(ctx)
		if err != nil {
			return err
		}
		if given["--json"] {
			return writeJSON(p.out, found)
		}
		_, err = fmt.Fprintf(p.out, "claimed %d, rescued %d, orphans %d, failures %d\n",
			found.Claimed, found.Rescued, found.Orphans, found.Failures)
		return err
	})
}

// healthcheck is for containers: it asks the app that runs with these
// settings.
func healthcheck(ctx context.Context, p program, args []string) error {
	if _, err := onlyFlags(args, "healthcheck"); err != nil {
		return err
	}
	c, err := loadConfig(p)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return ask(ctx, BaseURLFor(c.Listen)+"/readyz", p.out)
}

// ask gets one of our own health addresses and copies what it says.
func ask(ctx context.Context, url string, out io.Writer) error {
	req, err := nethttp.NewRequestWithContext(ctx, nethttp.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// Our own address, never the environment's proxy.
	resp, err := (&nethttp.Client{Transport: &nethttp.Transport{}}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	io.Copy(out, io.LimitReader(resp.Body, 4096))
	if resp.StatusCode != nethttp.StatusOK {
		return fmt.Errorf("the app is not ready: %s", resp.Status)
	}
	return nil
}

func version(_ context.Context, p program, args []string) error {
	if _, err := onlyFlags(args, "version"); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.out, "afterimage", buildVersion())
	return err
}

// buildVersion is what the Go toolchain recorded: a tag, or a commit.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
