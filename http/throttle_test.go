package http

import (
	"fmt"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// tryFrom makes a wrong try and returns how long it has to wait instead.
func tryFrom(t *throttle, address, name string) time.Duration {
	r := httptest.NewRequest("POST", "/sign-in", nil)
	r.RemoteAddr = address
	return t.wait(throttleKeys(r, name))
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle()
		const home, proxy = "192.0.2.1:1000", "10.0.0.1:2000"
		for range 5 {
			if wait := tryFrom(th, home, "ann"); wait != 0 {
				t.Fatalf("one of the first five tries waits %s", wait)
			}
		}
		for _, want := range []time.Duration{10, 20, 40, 80, 160, 300, 300} {
			if wait := tryFrom(th, home, " Ann "); wait != want*time.Second {
				t.Errorf("it waits %s, want %ds", wait, want)
			}
			time.Sleep(want * time.Second) // the bubble's clock jumps
			if wait := tryFrom(th, home, "ann"); wait != 0 {
				t.Errorf("after its wait it still waits %s", wait)
			}
		}
		if wait := tryFrom(th, home, "bob"); wait != 0 {
			t.Errorf("another name waits %s", wait)
		}
		r := httptest.NewRequest("POST", "/sign-in", nil)
		r.RemoteAddr = home
		th.right(throttleKeys(r, "ann"))
		if wait := tryFrom(th, home, "ann"); wait != 0 {
			t.Errorf("after the right password it waits %s", wait)
		}
		for n := range 50 {
			if wait := tryFrom(th, proxy, fmt.Sprint("user", n)); wait != 0 {
				t.Fatalf("try %d from one address waits %s", n, wait)
			}
		}
		if wait := tryFrom(th, proxy, "one more"); wait != 10*time.Second {
			t.Errorf("after 50 names an address waits %s", wait)
		}
	})
}

// Whoever fills the memory with names must not free the one they are after.
func TestThrottleKeepsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle()
		for range 5 {
			tryFrom(th, "192.0.2.1:1000", "ann")
		}
		for n := range 5100 {
			tryFrom(th, fmt.Sprintf("[2001:db8:%x::1]:1", n), fmt.Sprint("user", n))
		}
		th.mu.Lock()
		tracked := len(th.tries)
		th.mu.Unlock()
		if wait := tryFrom(th, "192.0.2.2:1000", "ann"); wait == 0 || tracked > maxTracked {
			t.Errorf("it waits %s, and %d are tracked", wait, tracked)
		}
	})
}

func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	a := httptest.NewRequest("POST", "/", nil)
	b := httptest.NewRequest("POST", "/", nil)
	a.RemoteAddr, b.RemoteAddr = "[2001:db8::1]:1", "[2001:db8::ffff:1]:2"
	if ka, kb := throttleKeys(a, ""), throttleKeys(b, ""); ka[1] != kb[1] {
		t.Errorf("%v and %v are two", ka[1], kb[1])
	}
	b.RemoteAddr = "[::ffff:192.0.2.1]:2"
	if k := throttleKeys(b, ""); k[1].value != "192.0.2.1" {
		t.Errorf("a mapped address is %v", k[1])
	}
}
