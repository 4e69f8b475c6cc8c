package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net"
	nethttp "net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"afterimage/generate"
)

// providers asks each whether it takes its key and has its models. None makes
// an image.
func (d *checkup) providers() {
	list, err := newProviders(d.config, d.client)
	if err != nil {
		d.check("providers", func(context.Context) finding { return failed(err, "") })
		return
	}
	for _, p := range list {
		name := p.Info().Name
		checker, ok := p.(generate.Checker)
		if !ok {
			continue // the demo, which has nothing to check
		}
		d.check(name, func(ctx context.Context) finding {
			found, err := checker.Check(ctx)
			if err != nil {
				return failed(err, "")
			}
			return fine("%s", found)
		})
	}
	if len(list) == 1 {
		d.check("providers", func(context.Context) finding { return skip("only the demo is set up, which needs no key") })
	}
}

// outsideName is a name that is made for examples and always there.
const outsideName = "example.com"

// fakeIPs is what tools that redirect all traffic answer for every name.
var fakeIPs = netip.MustParsePrefix("198.18.0.0/15")

// outside looks at the way that fetches of images take.
func (d *checkup) outside() {
	d.check("names", d.checkNames)
	d.check("proxy", d.checkProxy)
}

func (d *checkup) checkNames(ctx context.Context) finding {
	const setting = "IMAGE_ARCHIVE_RESOLVER"
	asked := cmp.Or(d.config.Archive.Resolver, "the system's resolver")
	addrs, err := d.client.Lookup(ctx, outsideName)
	if err != nil {
		f := wrong(setting, "%s does not know %s, so no image can be fetched from outside: %v", asked, outsideName, err)
		if !d.needsOutside() {
			f.Status = attention // fine for who keeps to an own network
		}
		return f
	}
	if slices.ContainsFunc(addrs, func(a netip.Addr) bool { return fakeIPs.Contains(a.Unmap()) }) {
		return wrong(setting, "%s answers with a made-up address (%s), as tools do that redirect all traffic, and such addresses are refused: name a real DNS server, or set IMAGE_ARCHIVE_PROXY to that tool's proxy port and a real DNS server",
			asked, addrs[0])
	}
	return fine("%s knows %s", asked, outsideName)
}

// needsOutside tells whether a provider has a name, and no address alone.
func (d *checkup) needsOutside() bool {
	c := d.config
	return slices.ContainsFunc([]ProviderConfig{c.OpenAI, c.Replicate, c.DashScope, c.A1111}, func(p ProviderConfig) bool {
		u, err := url.Parse(p.BaseURL)
		return p.Enabled && err == nil && strings.Contains(u.Hostname(), ".") && net.ParseIP(u.Hostname()) == nil
	})
}

func (d *checkup) checkProxy(ctx context.Context) finding {
	const setting = "IMAGE_ARCHIVE_PROXY"
	if d.config.Archive.Proxy == "" {
		for _, name := range []string{"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
			if environValue(d.program.environ, name) != "" {
				return look(setting, "%s is set, but images are fetched without it: set %s too, if they need it", name, setting)
			}
		}
		return skip("none is set")
	}
	u, err := url.Parse(d.config.Archive.Proxy)
	if err != nil {
		return wrong(setting, "is no URL") // err would show the password
	}
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443", "socks5": "1080"}[strings.ToLower(u.Scheme)])
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return wrong(setting, "%v", err)
	}
	conn.Close()
	return fine("%s takes connections", net.JoinHostPort(u.Hostname(), port))
}

// baseURL asks for the app under the address that people see, if it runs.
func (d *checkup) baseURL() {
	d.check("base URL", d.checkBaseURL)
	d.check("cookies", func(context.Context) finding { return checkCookies(d.config) })
}

const baseSetting = "AFTERIMAGE_BASE_URL"

func (d *checkup) checkBaseURL(ctx context.Context) finding {
	c := d.config
	local := BaseURLFor(c.Listen)
	if err := ask(ctx, local+"/livez", io.Discard); err != nil {
		return skip("the app does not run on %s", c.Listen)
	}
	if !c.BaseURLSet {
		host, _, _ := net.SplitHostPort(c.Listen)
		if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
			return fine("%s, for this machine alone", c.BaseURL)
		}
		return look(baseSetting, "images are given out as %s/img/…, which only this machine can open: set it to what people type", c.BaseURL)
	}
	name := rand.Text()
	answer, err := d.ask(ctx, c.BaseURL+"/livez", nethttp.Header{"X-Request-Id": {name}})
	if err != nil {
		if _, ok := errors.AsType[tls.RecordHeaderError](err); ok || strings.Contains(err.Error(), "HTTPS") {
			return wrong(baseSetting, "https is not spoken there: put a proxy with a certificate in front, or write http://")
		}
		return failed(err, baseSetting)
	}
	defer answer.Body.Close()
	switch {
	case answer.StatusCode/100 == 3:
		return wrong(baseSetting, "status %d sends people on to another address: set that one", answer.StatusCode)
	case answer.StatusCode != nethttp.StatusOK || answer.Header.Get("X-Request-Id") != name:
		return wrong(baseSetting, "status %d from something that is not this app (a proxy has to pass everything on to %s)", answer.StatusCode, c.Listen)
	}
	return fine("the app answers at %s", c.BaseURL)
}

// checkCookies tells what browsers do with ours under the base URL.
func checkCookies(c Config) finding {
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return wrong(baseSetting, "is no URL")
	}
	if u.Scheme == "https" {
		return fine("sent over https only, so people have to come by %s", c.BaseURL)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return fine("sent over http, which stays on this machine")
	}
	return look(baseSetting, "passwords and cookies go over http, for everybody on the way to read: use https, by a proxy with a certificate")
}
