// Command testenv does for the test scripts what a shell cannot do well: it picks a free port, makes a secret and a
// certificate, and waits for a server. It knows nothing of the application and is no part of it.
package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
)

const usage = `usage: testenv port
       testenv secret
       testenv cert CA_FILE CERT_FILE KEY_FILE
       testenv wait PID URL [CA_FILE]`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "port":
		return printFreePort()
	case len(args) == 1 && args[0] == "secret":
		_, err := fmt.Println(rand.Text())
		return err
	case len(args) == 4 && args[0] == "cert":
		return writeCertificate(args[1], args[2], args[3])
	case len(args) >= 3 && len(args) <= 4 && args[0] == "wait":
		return waitFor(args[1], args[2], append(args[3:], "")[0])
	}
	return errors.New(usage)
}

// printFreePort lets the system choose. Somebody can take the port before its server does: the caller tries again.
func printFreePort() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	_, err = fmt.Println(l.Addr().(*net.TCPAddr).Port)
	return err
}
