package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// supervisor is systemd, where it started us: it is told when we are ready,
// that we still live, and that we stop. Elsewhere nobody is told anything.
type supervisor struct {
	socket   string
	watchdog time.Duration // how often to say that we live; 0: nobody wants to know
}

// findSupervisor reads the environment that systemd gives.
func findSupervisor(get func(string) string) supervisor {
	s := supervisor{socket: get("NOTIFY_SOCKET")}
	if pid := get("WATCHDOG_PID"); pid == "" || pid == strconv.Itoa(os.Getpid()) {
		if µs, err := strconv.ParseInt(get("WATCHDOG_USEC"), 10, 64); err == nil && µs > 0 {
			s.watchdog = time.Duration(µs) * time.Microsecond / 2
		}
	}
	return s
}

func (s supervisor) tell(state string) error {
	if s.socket == "" {
		return nil
	}
	// A name that begins with @ has no file; package net knows that.
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: s.socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("tell systemd: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell systemd: %w", err)
	}
	return nil
}

// keepTelling says that we live for as long as the check passes, until the
// context ends. When it no longer passes, systemd starts us again.
func (s supervisor) keepTelling(ctx context.Context, alive func(context.Context) error) {
	if s.watchdog <= 0 || s.socket == "" {
		<-ctx.Done()
		return
	}
	tick := time.NewTicker(s.watchdog)
	defer tick.Stop()
	for {
		check, cancel := context.WithTimeout(ctx, s.watchdog)
		if alive(check) == nil {
			_ = s.tell("WATCHDOG=1") // if it cannot be told, it acts as if we had not
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
