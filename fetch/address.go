package fetch

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// guard judges addresses in the moment they are dialled.
type guard struct {
	public  *ssrf.Guardian // knows every special-purpose range
	allow   []AllowRule
	ports   []uint16
	setting string // named in refusals
}

func newGuard(cfg Config) *guard {
	g := &guard{public: ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork()), allow: cfg.Allow, setting: cfg.AllowSetting}
	for _, p := range cfg.Ports {
		g.ports = append(g.ports, uint16(p))
	}
	return g
}

// metadata are addresses where clouds hand out credentials to whoever asks from inside. They stay
// blocked inside allowed networks and for trusted origins: no image is ever there.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // AWS, Google, Azure, most others
	netip.MustParseAddr("169.254.169.253"), // AWS: DNS
	netip.MustParseAddr("169.254.170.2"),   // AWS: task credentials
	netip.MustParseAddr("169.254.170.23"),  // AWS: pod identity
	netip.MustParseAddr("169.254.0.23"),    // Tencent
	netip.MustParseAddr("168.63.129.16"),   // Azure: host agent, in public space
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("fd00:ec2::254"),   // AWS over IPv6
	netip.MustParseAddr("fd00:ec2::253"),   // AWS: DNS over IPv6
	netip.MustParseAddr("fd00:ec2::23"),    // AWS: pod identity over IPv6
	netip.MustParseAddr("fd20:ce::254"),    // Google over IPv6
}

// control is the dialer's last word before it connects: net.Dialer.ControlContext.
func (g *guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return g.refuse(address, "an address that cannot be judged")
	}
	return g.judge(ap)
}

// controlTrusted is control for origins that the operator configured: any address will do, since
// the origin was chosen on purpose, except those that hand out credentials.
func (g *guard) controlTrusted(_ context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return g.refuse(address, "an address that cannot be judged")
	}
	return g.judgeMetadata(ap.Addr().Unmap())
}

// judge allows public addresses on the allowed ports, and what a rule names.
func (g *guard) judge(ap netip.AddrPort) error {
	addr, port := ap.Addr().Unmap(), ap.Port()
	if addr.Zone() != "" {
		return final(Blocked, "address "+addr.String()+" names a network interface")
	}
	if err := g.judgeMetadata(addr); err != nil {
		return err
	}
	if g.ruled(addr, port) {
		// A tunnel address is only as good as what it leads to.
		if inner, ok := embedded(addr); ok && !g.ruled(inner, port) && !g.isPublic(inner) {
			return g.refuse(ap.String(), "leads to the private address "+inner.String())
		}
		return nil
	}
	if !g.isPublic(addr) {
		return g.refuse(ap.String(), "a private or reserved address")
	}
	if !slices.Contains(g.ports, port) {
		return refusePort(port)
	}
	return nil
}

func (g *guard) judgeMetadata(addr netip.Addr) error {
	inner, _ := embedded(addr)
	if a := addr.WithZone(""); slices.Contains(metadata, a) || slices.Contains(metadata, inner) {
		return final(Blocked, "address "+addr.String()+" is a cloud metadata service, which no setting allows")
	}
	return nil
}

// ruled says whether a rule names this address with this port.
func (g *guard) ruled(addr netip.Addr, port uint16) bool {
	return slices.ContainsFunc(g.allow, func(r AllowRule) bool {
		if !r.Prefix.Contains(addr) {
			return false
		}
		if r.Port == 0 {
			return slices.Contains(g.ports, port)
		}
		return r.Port == port
	})
}

// isPublic says whether addr is on the internet and is no tunnel into an IPv4 network.
func (g *guard) isPublic(addr netip.Addr) bool {
	if _, tunnel := embedded(addr); tunnel {
		return false
	}
	return g.public.SafeAddr(addr) == nil
}

// knownPort says whether any address at all could be dialled on port, before a name is looked up.
func (g *guard) knownPort(port uint16) bool {
	return slices.Contains(g.ports, port) ||
		slices.ContainsFunc(g.allow, func(r AllowRule) bool { return r.Port == port })
}

func (g *guard) refuse(address, why string) *Error {
	e := final(Blocked, fmt.Sprintf("address %s is %s", address, why))
	e.Setting = g.setting
	return e
}

func refusePort(port uint16) *Error {
	e := final(Blocked, fmt.Sprintf("port %d is not allowed", port))
	e.Setting = "IMAGE_ARCHIVE_PORTS"
	return e
}

// embedded gives the IPv4 address inside an IPv6 address of a translation or tunnel.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	last := netip.AddrFrom4([4]byte(b[12:]))
	switch {
	case addr.Is4In6():
		return addr.Unmap(), true
	case ssrf.IPv6NAT64Prefix.Contains(addr.WithZone("")): // 64:ff9b::/96
		return last, true
	case allZero(b[:12]) && !allZero(b[12:15]): // the old "compatible" form ::a.b.c.d
		return last, true
	case b[0] == 0x20 && b[1] == 0x02: // 6to4
		return netip.AddrFrom4([4]byte(b[2:])), true
	case binary.BigEndian.Uint32(b[:]) == 0x20010000: // Teredo keeps the client's address inverted
		return netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}), true
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe: // ISATAP
		return last, true
	}
	return netip.Addr{}, false
}

func allZero(b []byte) bool {
	return !slices.ContainsFunc(b, func(c byte) bool { return c != 0 })
}
