// Command afterimage is a self-hosted web app that makes images through any
// provider and keeps every one of them.
//
// This package reads the settings, builds everything in order and wires it
// together; what the parts do is theirs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	_ "time/tzdata" // people's time zones, on machines that have none
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, program{args: os.Args[1:], environ: os.Environ(), dotEnv: ".env", in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// program is what a run of the app gets from outside, so that tests start the
// same program that main starts.
type program struct {
	args    []string
	environ []string
	dotEnv  string // a file of settings beside the environment's; empty: none
	in      io.Reader
	out     io.Writer // what was asked for
	err     io.Writer // everything else: logs, problems
}

// usageError is a wrong use of the command line; its text says what is right.
type usageError string

func (e usageError) Error() string { return string(e) }

// command is a sub-command.
type command struct {
	name, args, help string
	run              func(ctx context.Context, p program, args []string) error
	use              string // each form of the command, if there are several
}

func commands() []command {
	return []command{
		{"serve", "", "run the app (also without a command)", serve, ""},
		{"migrate", "[status]", "bring the database's schema up to date, or show where it is", migrate, ""},
		{"doctor", "[--json]", "try out what the settings name, and say which variable mends what does not work", doctor, doctorUse},
		{"config", "[--json]", "show the effective settings and where each comes from", showConfig, ""},
		{"setup-link", "", "print a new link to create the administrator", setupLink, ""},
		{"user", "create|list|password …", "manage accounts", userCommand, userUse},
		{"key", "create|list|revoke …", "manage API keys", keyCommand, keyUse},
		{"rebuild", "[--json]", "restore people's histories from the store into an empty database", rebuild, ""},
		{"sweep", "[--json]", "do one round of the search for lost work and print what it found", sweep, ""},
		{"verify", "[--limit N] [--rate SPEED]", "read stored images back and compare them with what was stored", verify, verifyUse},
		{"reconcile", "[--repair]", "compare the database with the store and the spool", reconcile, reconcileUse},
		{"import", "FILE|DIR|- [--user NAME]", "keep a list of images: addresses, CSV, JSON lines, a log of answers, an export", importCommand, importUse},
		{"export", "DIR|FILE.zip [--user NAME]", "write all images with what is known of them into a folder or a zip", export, exportUse},
		{"backup", "FILE", "copy the SQLite database while the app runs", backup, backupUse},
		{"healthcheck", "", "ask the running app whether it is ready", healthcheck, ""},
		{"version", "", "print the version", version, ""},
	}
}

// run runs the command that the arguments name and returns the exit code.
func run(ctx context.Context, p program) int {
	name, args := "serve", []string(nil)
	if len(p.args) > 0 {
		name, args = p.args[0], p.args[1:]
	}
	switch name {
	case "--version", "-v":
		name = "version"
	case "help", "--help", "-h":
		writeUsage(p.out)
		return exitDone
	}
	list := commands()
	i := slices.IndexFunc(list, func(c command) bool { return c.name == name })
	if i < 0 {
		fmt.Fprintf(p.err, "There is no command %q. afterimage --help lists them.\n", name)
		return exitUsage
	}
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		writeHelp(p.out, list[i])
		return exitDone
	}
	err := list[i].run(ctx, p, args)
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(p.err, "%v\n", err)
		return exitUsage
	}
	if err != nil {
		fmt.Fprintf(p.err, "afterimage %s: %v\n", name, err)
		return exitFailed
	}
	return exitDone
}

// writeHelp explains one command.
func writeHelp(w io.Writer, c command) {
	fmt.Fprintln(w, strings.TrimSpace("afterimage "+c.name+" "+c.args))
	fmt.Fprintln(w, sentence(c.help))
	if c.use != "" {
		fmt.Fprintln(w, "\n"+c.use)
	}
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] + "." }

func writeUsage(w io.Writer) {
	fmt.Fprintln(w, "Afterimage makes images through any provider and keeps every one of them.\n\nUse: afterimage [command]")
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range commands() {
		fmt.Fprintf(table, "  %s %s\t%s\n", c.name, c.args, c.help)
	}
	table.Flush()
	fmt.Fprintln(w)
	writeSettingsHelp(w)
}

// loadConfig reads the settings and reports every problem at once.
func loadConfig(p program) (Config, error) {
	c, problems := p.settings()
	writeProblems(p.err, problems)
	if fatal(problems) {
		return c, usageError("The settings above have to be mended first. afterimage --help explains each.")
	}
	return c, nil
}

// settings reads them and finds everything that is wrong with them.
func (p program) settings() (Config, []Problem) {
	c, problems := readConfig(newEnvironment(p.environ, p.dotEnv, readSettingFile))
	c.Problems = append(problems, checkAllow(c)...)
	return c, c.Problems
}
