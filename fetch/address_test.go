package fetch

import (
	"net/netip"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	rules, err := ParseAllow("10.0.0.0/8, 192.168.1.5:8188, 64:ff9b::/96, 169.254.0.0/16, fd00::/8, 168.63.0.0/16")
	if err != nil {
		t.Fatal(err)
	}
	g := newGuard(Config{Allow: rules, AllowSetting: "IMAGE_ARCHIVE_ALLOW"}.withDefaults())
	for _, tt := range []struct {
		address string
		allowed bool
		why     string
	}{
		{"93.184.216.34:443", true, "public"},
		{"93.184.216.34:22", false, "public, but no web port"},
		{"[2606:4700::1]:443", true, "public IPv6"},
		{"127.0.0.1:80", false, "loopback"},
		{"127.255.255.254:80", false, "the rest of loopback"},
		{"[::1]:80", false, "loopback"},
		{"[::]:80", false, "unspecified"},
		{"0.0.0.0:80", false, "unspecified"},
		{"172.16.0.1:80", false, "private"},
		{"100.64.0.1:80", false, "shared"},
		{"198.18.0.1:80", false, "benchmarks, where fake-IP resolvers live"},
		{"224.0.0.1:80", false, "multicast"},
		{"255.255.255.255:80", false, "broadcast"},
		{"[fe80::1]:80", false, "link-local"},
		{"[fec0::1]:80", false, "site-local"},
		{"[ff02::1]:80", false, "multicast"},
		{"[::ffff:127.0.0.1]:80", false, "loopback, mapped"},
		{"[::127.0.0.1]:80", false, "loopback, in the old compatible form"},
		{"[2002:7f00:1::]:80", false, "loopback by 6to4"},
		{"[2001:0:1:2:3:4:80ff:fffe]:80", false, "loopback by Teredo"},
		{"[2606:4700::5efe:7f00:1]:80", false, "loopback by ISATAP inside a public prefix"},
		{"[2606:4700::200:5efe:5db8:d822]:80", false, "any ISATAP"},
		{"[2001:db8::1]:80", false, "documentation"},

		{"10.1.2.3:80", true, "a network that a rule names"},
		{"[::ffff:10.1.2.3]:80", true, "the same, mapped"},
		{"10.1.2.3:8188", false, "the same, on another port"},
		{"192.168.1.5:8188", true, "an address that a rule names with its port"},
		{"192.168.1.5:80", false, "the same, on another port"},
		{"192.168.1.5:81889", false, "no port at all"},
		{"[64:ff9b::5db8:d822]:80", true, "public behind the allowed NAT64"},
		{"[64:ff9b::7f00:1]:80", false, "loopback behind the allowed NAT64"},
		{"[64:ff9b::a01:203]:80", true, "an allowed network behind the allowed NAT64"},

		{"169.254.169.254:80", false, "metadata inside an allowed range"},
		{"169.254.1.1:80", true, "another address in that range"},
		{"[64:ff9b::a9fe:a9fe]:80", false, "metadata behind the allowed NAT64"},
		{"[fd00:ec2::254]:80", false, "metadata inside an allowed range"},
		{"168.63.129.16:80", false, "metadata in public space, inside an allowed range"},
	} {
		ap, err := netip.ParseAddrPort(tt.address)
		if err != nil {
			if tt.allowed {
				t.Error(err)
			}
			continue
		}
		if err := g.judge(ap); (err == nil) != tt.allowed {
			t.Errorf("%s (%s): got %v, want allowed %v", tt.address, tt.why, err, tt.allowed)
		}
	}
}

func TestRefusalsNameTheSetting(t *testing.T) {
	g := newGuard(Config{AllowSetting: "AFTERIMAGE_WEBHOOK_ALLOW"}.withDefaults())
	for address, setting := range map[string]string{
		"10.0.0.1:80":        "AFTERIMAGE_WEBHOOK_ALLOW",
		"93.184.216.34:8188": "IMAGE_ARCHIVE_PORTS",
		"169.254.169.254:80": "", // nothing allows it
	} {
		e := wantError(t, g.judge(netip.MustParseAddrPort(address)), Blocked, true)
		if e.Setting != setting || !strings.Contains(e.Error(), setting) {
			t.Errorf("%s: got %q in %v, want %q", address, e.Setting, e, setting)
		}
	}
}

func TestParseAllow(t *testing.T) {
	for list, want := range map[string]string{
		"":                               "",
		"10.0.0.0/8":                     "10.0.0.0/8",
		"10.1.2.3/8":                     "10.0.0.0/8",
		" 192.168.1.5 , 10.0.0.0/8,":     "192.168.1.5 10.0.0.0/8",
		"192.168.1.5:8188":               "192.168.1.5:8188",
		"fd00::5":                        "fd00::5",
		"[fd00::5]":                      "fd00::5",
		"[fd00::5]:8188,fd00::/8":        "[fd00::5]:8188 fd00::/8",
		"::ffff:10.0.0.1":                "10.0.0.1",
		"comfy.lan":                      "error",
		"10.0.0.0/33":                    "error",
		"192.168.1.5:0":                  "error",
		"192.168.1.5:81889":              "error",
		"fe80::1%eth0":                   "error",
		"::ffff:10.0.0.0/104":            "error",
		"10.0.0.0/8 192.168.0.0/16":      "error",
		"http://192.168.1.5:8188":        "error",
		"10.0.0.0/8,oops,192.168.0.0/16": "error",
	} {
		rules, err := ParseAllow(list)
		var got []string
		for _, r := range rules {
			got = append(got, r.String())
		}
		text := strings.Join(got, " ")
		if err != nil {
			text = "error"
		}
		if text != want {
			t.Errorf("%q: got %q (%v), want %q", list, text, err, want)
		}
	}
}
