package fetch

import (
	"fmt"
	"net/netip"
	"strings"
)

// AllowRule lets one private network or address through.
type AllowRule struct {
	Prefix netip.Prefix
	Port   uint16 // the only port; 0: the allowed ports
}

// ParseAllow reads a comma-separated list of networks and addresses: 10.0.0.0/8, 192.168.1.5 (both
// on the allowed ports), 192.168.1.5:8188 or [fd00::5]:8188 (that port only). Names are not
// accepted: they can change their address. The error names the entry.
func ParseAllow(list string) ([]AllowRule, error) {
	var rules []AllowRule
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		rule, ok := parseRule(entry)
		if !ok {
			return nil, fmt.Errorf("%q: want a network (10.0.0.0/8), an address (192.168.1.5) or an address with a port (192.168.1.5:8188)", entry)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func parseRule(entry string) (AllowRule, bool) {
	if p, err := netip.ParsePrefix(entry); err == nil {
		// A mapped prefix would never match: addresses are judged unmapped.
		return AllowRule{Prefix: p.Masked()}, !p.Addr().Is4In6()
	}
	if ap, err := netip.ParseAddrPort(entry); err == nil && ap.Port() != 0 && ap.Addr().Zone() == "" {
		return AllowRule{Prefix: single(ap.Addr()), Port: ap.Port()}, true
	}
	if a, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil && a.Zone() == "" {
		return AllowRule{Prefix: single(a)}, true
	}
	return AllowRule{}, false
}

func single(a netip.Addr) netip.Prefix {
	a = a.Unmap()
	return netip.PrefixFrom(a, a.BitLen())
}

// String writes the rule as ParseAllow reads it.
func (r AllowRule) String() string {
	if r.Port != 0 {
		return netip.AddrPortFrom(r.Prefix.Addr(), r.Port).String()
	}
	if r.Prefix.IsSingleIP() {
		return r.Prefix.Addr().String()
	}
	return r.Prefix.String()
}
