package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// peer is another queue that does the same job, as a program of its own. Its
// floor is its own transfers without its queue.
type peer struct {
	b              *bench
	slots          int
	shipped, tuned peerRates
}

// peerRates are images a second.
type peerRates struct{ floor, ours []float64 }

func (r peerRates) ratio() string {
	if len(r.ours) == 0 {
		return ""
	}
	return fmt.Sprintf("%s (%s/s)", number(median(r.ours)/median(r.floor)), number(median(r.ours)))
}

// peerResult is what we read of the line that it prints.
type peerResult struct {
	Rate     float64 `json:"jobs_per_s"`
	P50      float64 `json:"latency_p50_ms"`
	P95      float64 `json:"latency_p95_ms"`
	P99      float64 `json:"latency_p99_ms"`
	Recovery float64 `json:"recovery_last_s"`
}

func (b *bench) newPeer(slots int) *peer { return &peer{b: b, slots: slots} }

// run runs the peer once, on a database of its own; without a peer it does
// nothing and says so.
func (p *peer) run(ctx context.Context, args ...string) (r peerResult, ran bool, err error) {
	command := strings.Fields(p.b.Peer)
	if len(command) == 0 {
		return r, false, nil
	}
	dsn, drop, err := p.b.newDatabase(ctx)
	if err != nil {
		return r, false, err
	}
	defer drop()
	args = append([]string{
		"-dsn", dsn, "-db-conns", strconv.Itoa(max(16, 2*p.slots)), "-workers", strconv.Itoa(p.slots), "-verify=false",
		"-s3", p.b.s3.Endpoint, "-bucket", p.b.s3.Bucket, "-access-key", p.b.s3.AccessKeyID, "-secret-key", p.b.s3.SecretAccessKey,
	}, args...)
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return r, false, fmt.Errorf("run %s: %w", command[0], err)
	}
	if err := json.Unmarshal(bytes.TrimSpace(out), &r); err != nil {
		return r, false, fmt.Errorf("read the answer of %s: %w", command[0], err)
	}
	return r, true, nil
}

// burst takes its floor, and its rate as shipped and tuned. As shipped it is
// so slow with few slots that a tenth of the images shows it.
func (p *peer) burst(ctx context.Context, size, images int) error {
	args := func(mode string, n int, more ...string) []string {
		return append([]string{"-mode", mode, "-size", strconv.Itoa(size), "-n", strconv.Itoa(n)}, more...)
	}
	few := max(p.slots, images/10)
	floor, ran, err := p.run(ctx, args("floor", images)...)
	if err != nil || !ran {
		return err
	}
	shipped, _, err := p.run(ctx, args("burst", few)...)
	if err != nil {
		return err
	}
	fast, _, err := p.run(ctx, args("burst", images, tuning()...)...)
	if err != nil {
		return err
	}
	p.shipped.floor, p.shipped.ours = append(p.shipped.floor, floor.Rate), append(p.shipped.ours, shipped.Rate)
	p.tuned.floor, p.tuned.ours = append(p.tuned.floor, floor.Rate), append(p.tuned.ours, fast.Rate)
	return nil
}

// tuning are the settings with which the peer's own benchmark runs.
func tuning() []string { return []string{"-fetch-cooldown", "2ms", "-fetch-poll", "20ms"} }
