package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"afterimage/records"
)

const userUse = `Use: afterimage user create NAME [--admin]      (the password is read from standard input)
     afterimage user list [--json]
     afterimage user password NAME             (the password is read from standard input)
     afterimage user reset-link NAME           (prints a link with which NAME can choose a password)`

func userCommand(ctx context.Context, p program, args []string) error {
	if len(args) == 0 {
		return usageError(userUse)
	}
	flags := newFlags()
	admin := flags.Bool("admin", false, "")
	asJSON := flags.Bool("json", false, "")
	names, err := parse(flags, args[1:])
	if err != nil {
		return usageError(userUse)
	}
	switch {
	case args[0] == "create" && len(names) == 1:
		return withPassword(ctx, p, func(db *records.DB, password string) error {
			role := records.Member
			if *admin {
				role = records.Admin
			}
			u, err := db.CreateUser(ctx, names[0], password, role)
			if err == nil {
				fmt.Fprintf(p.out, "created %s %s\n", u.Role, u.Username)
			}
			return err
		})
	case args[0] == "password" && len(names) == 1:
		return withPassword(ctx, p, func(db *records.DB, password string) error {
			u, err := db.UserByName(ctx, names[0])
			if err != nil {
				return err
			}
			return db.SetPassword(ctx, u.ID, password, "")
		})
	case args[0] == "reset-link" && len(names) == 1:
		return withDatabase(ctx, p, func(c Config, db *records.DB) error { return printResetLink(ctx, p, c, db, names[0]) })
	case args[0] == "list" && len(names) == 0:
		return withDatabase(ctx, p, func(_ Config, db *records.DB) error { return listUsers(ctx, p, db, *asJSON) })
	}
	return usageError(userUse)
}

func printResetLink(ctx context.Context, p program, c Config, db *records.DB, name string) error {
	u, err := db.UserByName(ctx, name)
	if err != nil {
		return err
	}
	token, expires, err := db.NewResetToken(ctx, u.ID)
	if err == nil {
		_, err = fmt.Fprintf(p.out, "%s/reset?token=%s\n", c.BaseURL, token) // alone, for a program
	}
	if err == nil {
		_, err = fmt.Fprintf(p.err, "It works once, until %s.\n", expires.Format(time.RFC3339))
	}
	return err
}

func listUsers(ctx context.Context, p program, db *records.DB, asJSON bool) error {
	users, err := db.Users(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		type row struct {
			Username  string       `json:"username"`
			Role      records.Role `json:"role"`
			CreatedAt records.Time `json:"created_at"`
		}
		rows := []row{}
		for _, u := range users {
			rows = append(rows, row{u.Username, u.Role, u.CreatedAt})
		}
		return writeJSON(p.out, rows)
	}
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, u := range users {
		fmt.Fprintf(table, "%s\t%s\t%s\n", u.Username, u.Role, u.CreatedAt.Format(time.DateOnly))
	}
	return table.Flush()
}

// withPassword reads a password from the first line of standard input: as an
// argument, everybody on the machine could see it.
func withPassword(ctx context.Context, p program, fn func(db *records.DB, password string) error) error {
	password, err := readPassword(p)
	if err != nil {
		return fmt.Errorf("read the password: %w", err)
	}
	return withDatabase(ctx, p, func(_ Config, db *records.DB) error { return fn(db, password) })
}

// readPassword does not show on a terminal what is typed.
func readPassword(p program) (string, error) {
	if f, ok := p.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprint(p.err, "Password: ")
		typed, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(p.err)
		return string(typed), err
	}
	line, err := bufio.NewReader(io.LimitReader(p.in, 4096)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

const keyUse = `Use: afterimage key create --user NAME --name NAME --scopes SCOPE[,SCOPE] [--expires 720h]
     afterimage key list --user NAME [--json]
     afterimage key revoke --user NAME ID
Scopes: images:read, images:write (implies images:read), ops:read, ops:write (implies ops:read)`

func keyCommand(ctx context.Context, p program, args []string) error {
	if len(args) == 0 {
		return usageError(keyUse)
	}
	flags := newFlags()
	username := flags.String("user", "", "")
	name := flags.String("name", "", "")
	scopes := flags.String("scopes", "", "")
	expires := flags.Duration("expires", 0, "")
	asJSON := flags.Bool("json", false, "")
	rest, err := parse(flags, args[1:])
	if err != nil || *username == "" {
		return usageError(keyUse)
	}
	return withDatabase(ctx, p, func(_ Config, db *records.DB) error {
		user, err := db.UserByName(ctx, *username)
		if err != nil {
			return err
		}
		switch {
		case args[0] == "create" && len(rest) == 0:
			fields := strings.FieldsFunc(*scopes, func(r rune) bool { return r == ',' || r == ' ' })
			_, secret, err := db.CreateKey(ctx, user.ID, *name, fields, *expires)
			if err == nil {
				fmt.Fprintln(p.out, secret) // alone, for KEY=$(afterimage key create …)
			}
			return err
		case args[0] == "list" && len(rest) == 0:
			return listKeys(ctx, p, db, user.ID, *asJSON)
		case args[0] == "revoke" && len(rest) == 1:
			return db.RevokeKey(ctx, user.ID, rest[0])
		}
		return usageError(keyUse)
	})
}

func listKeys(ctx context.Context, p program, db *records.DB, userID string, asJSON bool) error {
	keys, err := db.Keys(ctx, userID)
	if err != nil {
		return err
	}
	if asJSON {
		type row struct {
			ID         string       `json:"id"`
			Name       string       `json:"name"`
			Prefix     string       `json:"prefix"`
			Scopes     []string     `json:"scopes"`
			CreatedAt  records.Time `json:"created_at"`
			ExpiresAt  records.Time `json:"expires_at"`
			LastUsedAt records.Time `json:"last_used_at"`
		}
		rows := []row{}
		for _, k := range keys {
			rows = append(rows, row{k.ID, k.Name, k.Prefix, strings.Fields(k.Scopes), k.CreatedAt, k.ExpiresAt, k.LastUsedAt})
		}
		return writeJSON(p.out, rows)
	}
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	for _, k := range keys {
		fmt.Fprintf(table, "%s\t%s…\t%s\t%s\n", k.ID, k.Prefix, k.Name, k.Scopes)
	}
	return table.Flush()
}

func newFlags() *flag.FlagSet {
	f := flag.NewFlagSet("", flag.ContinueOnError)
	f.SetOutput(io.Discard) // the usage text says more
	return f
}

// parse takes flags before, between and after the other arguments.
func parse(f *flag.FlagSet, args []string) (rest []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			return nil, err
		}
		if f.NArg() == 0 {
			return rest, nil
		}
		rest = append(rest, f.Arg(0))
		args = f.Args()[1:]
	}
}
