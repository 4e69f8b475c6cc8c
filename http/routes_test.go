package http_test

import (
	nethttp "net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
)

// access is what a route says to those who may not.
type access struct {
	kind  string // open, link, api, page
	scope string // of an api
	id    string // what {id} names: image, generation, key; empty: there is none
	admin bool   // of a page: only administrators have it
	body  string // that would do something if it were allowed
}

// routeTable has every route. One that is missing here fails the test, so that
// nobody adds a route without saying who may use it.
var routeTable = map[string]access{
	"GET /livez":            {kind: "open"},
	"GET /readyz":           {kind: "open"},
	"GET /metrics":          {kind: "open"}, // but see TestWhoMayReadMetrics
	"GET /api/openapi.json": {kind: "open"},
	"GET /api/docs":         {kind: "open"},
	"GET /assets/*":         {kind: "open"},
	"GET /img/{id}":         {kind: "link", id: "image"},
	"GET /thumb/{id}":       {kind: "link", id: "image"},

	"GET /api/v1/generations/{id}":         {kind: "api", scope: records.ScopeImagesRead, id: "generation"},
	"GET /api/v1/images":                   {kind: "api", scope: records.ScopeImagesRead},
	"GET /api/v1/images/counts":            {kind: "api", scope: records.ScopeImagesRead},
	"POST /api/v1/images/bulk":             {kind: "api", scope: records.ScopeImagesWrite, body: `{"action":"delete","ids":["00000000000000000000000000000000"]}`},
	"GET /api/v1/images/{id}":              {kind: "api", scope: records.ScopeImagesRead, id: "image"},
	"GET /api/v1/images/{id}/events":       {kind: "api", scope: records.ScopeImagesRead, id: "image"},
	"GET /api/v1/events":                   {kind: "api", scope: records.ScopeImagesRead},
	"GET /api/v1/history":                  {kind: "api", scope: records.ScopeImagesRead},
	"GET /live":                            {kind: "api", scope: records.ScopeImagesRead},
	"POST /api/v1/generations":             {kind: "api", scope: records.ScopeImagesWrite, body: `{"prompt":"a fox"}`},
	"POST /api/v1/generations/{id}/cancel": {kind: "api", scope: records.ScopeImagesWrite, id: "generation"},
	"POST /api/v1/images/import":           {kind: "api", scope: records.ScopeImagesWrite, body: `{"items":[{"url":"https://a.example/a.png"}]}`},
	"PATCH /api/v1/images/{id}":            {kind: "api", scope: records.ScopeImagesWrite, id: "image", body: `{"trashed":true}`},
	"DELETE /api/v1/images/{id}":           {kind: "api", scope: records.ScopeImagesWrite, id: "image"},
	"POST /api/v1/images/{id}/retry":       {kind: "api", scope: records.ScopeImagesWrite, id: "image"},
	"POST /api/v1/images/{id}/verify":      {kind: "api", scope: records.ScopeImagesWrite, id: "image"},
	"GET /api/v1/archive":                  {kind: "api", scope: records.ScopeOpsRead},

	"GET /v1/models":                        {kind: "api", scope: records.ScopeImagesRead},
	"GET /v1/models/*":                      {kind: "api", scope: records.ScopeImagesRead},
	"POST /v1/images/generations":           {kind: "api", scope: records.ScopeImagesWrite, body: `{"prompt":"a fox"}`},
	"POST /v1/images/edits":                 {kind: "api", scope: records.ScopeImagesWrite, body: `{"prompt":"a fox"}`},
	"POST /v1/images/variations":            {kind: "api", scope: records.ScopeImagesWrite},
	"GET /api/v1/imports/{id}":              {kind: "api", scope: records.ScopeImagesRead, id: "import"},
	"GET /api/v1/webhooks":                  {kind: "api", scope: records.ScopeImagesRead},
	"GET /api/v1/webhooks/{id}":             {kind: "api", scope: records.ScopeImagesRead, id: "webhook"},
	"GET /api/v1/webhooks/{id}/deliveries":  {kind: "api", scope: records.ScopeImagesRead, id: "webhook"},
	"GET /api/v1/digests":                   {kind: "api", scope: records.ScopeImagesRead},
	"GET /api/v1/usage":                     {kind: "api", scope: records.ScopeImagesRead},
	"POST /api/v1/webhooks":                 {kind: "api", scope: records.ScopeImagesWrite, body: `{"url":"https://a.example/","events":["image.archived"]}`},
	"POST /api/v1/webhooks/{id}/rotate":     {kind: "api", scope: records.ScopeImagesWrite, id: "webhook"},
	"POST /api/v1/webhooks/{id}/test":       {kind: "api", scope: records.ScopeImagesWrite, id: "webhook"},
	"POST /api/v1/webhooks/{id}/enable":     {kind: "api", scope: records.ScopeImagesWrite, id: "webhook"},
	"DELETE /api/v1/webhooks/{id}":          {kind: "api", scope: records.ScopeImagesWrite, id: "webhook"},
	"GET /api/v1/jobs":                      {kind: "api", scope: records.ScopeOpsRead},
	"GET /api/v1/jobs/list":                 {kind: "api", scope: records.ScopeOpsRead},
	"POST /api/v1/archive/retry":            {kind: "api", scope: records.ScopeOpsWrite, body: `{"reason":"source_expired"}`},
	"POST /api/v1/jobs/revive":              {kind: "api", scope: records.ScopeOpsWrite, body: `{"kind":"archive"}`},
	"POST /api/v1/jobs/kinds/{kind}/pause":  {kind: "api", scope: records.ScopeOpsWrite},
	"POST /api/v1/jobs/kinds/{kind}/resume": {kind: "api", scope: records.ScopeOpsWrite},

	"GET /api/v1/images/download":   {kind: "api", scope: records.ScopeImagesRead},
	"GET /api/v1/users/{id}/export": {kind: "api", scope: records.ScopeOpsWrite, id: "user"},
	"GET /api/v1/me":                {kind: "api", scope: records.ScopeImagesRead},
	"POST /api/v1/me/password":      {kind: "person", body: `{"current_password":"correct horse","new_password":"battery staple"}`},
	"GET /api/v1/sessions":          {kind: "person"},
	"DELETE /api/v1/sessions/{id}":  {kind: "person", id: "session"},
	"GET /api/v1/keys":              {kind: "person"},
	"POST /api/v1/keys":             {kind: "person", body: `{"name":"mine","scopes":["images:read"]}`},
	"DELETE /api/v1/keys/{id}":      {kind: "person", id: "key"},
	"GET /api/v1/users":             {kind: "api", scope: records.ScopeOpsRead},
	"GET /api/v1/users/{id}":        {kind: "api", scope: records.ScopeOpsRead, id: "user"},
	"POST /api/v1/users":            {kind: "api", scope: records.ScopeOpsWrite, body: `{"username":"eve","role":"admin"}`},
	"PATCH /api/v1/users/{id}":      {kind: "api", scope: records.ScopeOpsWrite, id: "user", body: `{"disabled":true}`},
	"DELETE /api/v1/users/{id}":     {kind: "api", scope: records.ScopeOpsWrite, id: "user"},
	"POST /api/v1/users/{id}/reset": {kind: "api", scope: records.ScopeOpsWrite, id: "user"},

	"GET /setup":       {kind: "open"},
	"POST /setup":      {kind: "open"},
	"GET /sign-in":     {kind: "open"},
	"POST /sign-in":    {kind: "open"},
	"POST /sign-out":   {kind: "open"},
	"GET /lang/{lang}": {kind: "open"},

	"GET /":                           {kind: "page"},
	"GET /create":                     {kind: "page"},
	"POST /create":                    {kind: "page", body: "prompt=a+fox&model=demo/demo"},
	"GET /trash":                      {kind: "page"},
	"POST /trash/empty":               {kind: "page", body: "count=1"},
	"POST /bulk":                      {kind: "page", body: "action=trash&all=1"},
	"GET /wall/{how}":                 {kind: "page"},
	"GET /import":                     {kind: "page"},
	"POST /import":                    {kind: "page", body: "urls=https://a.example/a.png"},
	"GET /import/{id}":                {kind: "page", id: "import"},
	"GET /i/{id}":                     {kind: "page", id: "image"},
	"POST /i/{id}/retry":              {kind: "page", id: "image"},
	"POST /i/{id}/cancel":             {kind: "page", id: "image"},
	"POST /i/{id}/verify":             {kind: "page", id: "image"},
	"POST /i/{id}/trash":              {kind: "page", id: "image"},
	"POST /i/{id}/restore":            {kind: "page", id: "image"},
	"POST /i/{id}/delete":             {kind: "page", id: "image"},
	"POST /i/{id}/favorite":           {kind: "page", id: "image", body: "favorite=1"},
	"GET /settings":                   {kind: "page"},
	"POST /settings/profile":          {kind: "page", body: "language=zh-CN&theme=dark"},
	"POST /settings/password":         {kind: "page", body: "current_password=correct+horse&new_password=battery+staple"},
	"POST /settings/keys":             {kind: "page", body: "name=mine&scopes=images:read"},
	"POST /settings/keys/{id}/revoke": {kind: "page", id: "key"},

	"POST /settings/webhooks":             {kind: "page", body: "url=https://a.example/&events=digest"},
	"GET /settings/webhooks/{id}":         {kind: "page", id: "webhook"},
	"POST /settings/webhooks/{id}/test":   {kind: "page", id: "webhook"},
	"POST /settings/webhooks/{id}/rotate": {kind: "page", id: "webhook"},
	"POST /settings/webhooks/{id}/enable": {kind: "page", id: "webhook"},
	"POST /settings/webhooks/{id}/delete": {kind: "page", id: "webhook"},
	"POST /settings/digest":               {kind: "page", body: "hour=8&time_zone=Europe/Vienna"},
	"GET /digest":                         {kind: "page"},
	"GET /digest/{day}":                   {kind: "page"},
	"GET /ops":                            {kind: "page"},
	"GET /ops/live":                       {kind: "api", scope: records.ScopeOpsWrite},
	"POST /ops/retry":                     {kind: "page", body: "reason=source_expired"},
	"POST /ops/sources/{id}/retry":        {kind: "page"},
	"GET /ops/system":                     {kind: "page"},
	"POST /ops/test/store":                {kind: "page"},
	"POST /ops/test/providers/{name}":     {kind: "page"},
	"GET /ops/jobs":                       {kind: "page"},
	"POST /ops/jobs/{kind}/pause":         {kind: "page"},
	"POST /ops/jobs/{kind}/resume":        {kind: "page"},
	"POST /ops/jobs/{kind}/revive":        {kind: "page", body: "reason="},
	"GET /reset":                          {kind: "open"},
	"POST /reset":                         {kind: "open"},
	"POST /settings/sessions/{id}/end":    {kind: "page", id: "session"},
	"POST /settings/people":               {kind: "page", body: "username=eve", admin: true},
	"POST /settings/people/{id}/disable":  {kind: "page", id: "user", admin: true},
	"POST /settings/people/{id}/enable":   {kind: "page", id: "user", admin: true},
	"POST /settings/people/{id}/reset":    {kind: "page", id: "user", admin: true},
}

// door is the one site that all cases of the table knock at.
type door struct {
	*world
	ids    map[string]string // of the owner's things
	owner  string
	before int64
}

func TestEveryRouteIsGuarded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := &door{world: w, owner: w.admin("owner"), ids: map[string]string{}}
		g, images := w.asks(d.owner, "the owner's lighthouse", 1)
		k, _, err := w.CreateKey(t.Context(), d.owner, "the owner's", []string{records.ScopeImagesRead}, 0)
		if err != nil {
			t.Fatal(err)
		}
		d.ids["generation"], d.ids["image"], d.ids["key"] = g.ID, images[0].ID, k.ID
		hook, err := w.CreateWebhook(t.Context(), d.owner, "https://a.example/", []string{records.HookDigest})
		if err != nil {
			t.Fatal(err)
		}
		imported, _, err := w.CreateImport(t.Context(), d.owner, []records.ImportItem{{URL: "https://a.example/a.png"}}, records.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		d.ids["webhook"], d.ids["import"] = hook.ID, imported
		d.ids["user"] = d.owner
		d.browserOf(d.owner)
		sessions, err := w.Sessions(t.Context(), d.owner)
		if err != nil {
			t.Fatal(err)
		}
		d.ids["session"] = sessions[0].ID
		w.state(images[0].ID, records.ArchiveFailed, "source_expired") // so that a retry, and deleting, would do something
		d.before = d.writes()
		seen := map[string]bool{}
		err = chi.Walk(w.server.Router(), func(method, route string, _ nethttp.Handler, _ ...func(nethttp.Handler) nethttp.Handler) error {
			name := method + " " + strings.TrimSuffix(strings.ReplaceAll(route, "/*/", "/"), "/")
			if route == "/" {
				name = method + " /"
			}
			seen[name] = true
			rule, ok := routeTable[name]
			if !ok {
				t.Errorf("%s is not in the table: say who may use it", name)
				return nil
			}
			d.run(name, func(t *testing.T) { d.knock(method, route, rule) })
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for name := range routeTable {
			if !seen[name] {
				t.Errorf("%s is in the table but there is no such route", name)
			}
		}
	})
}

// knock tries a route as everybody who may not use it.
func (d *door) knock(method, route string, rule access) {
	path := strings.ReplaceAll(route, "{id}", d.ids[rule.id])
	switch rule.kind {
	case "api":
		d.knockAPI(method, path, rule)
	case "person":
		d.knockPerson(method, path, rule)
	case "page":
		d.knockPage(method, path, rule)
	}
	if rule.id != "" {
		d.knockWithNoID(method, route, rule)
	}
	if got := d.writes(); got != d.before {
		d.t.Errorf("something was written: %d, before %d", got, d.before)
	}
}

func (d *door) knockAPI(method, path string, rule access) {
	try := func(who *visitor, status int, code string) {
		d.t.Helper()
		a := who.call(method, path, rule.body).wants(status)
		if got := codeOf(a); got != code && got != openAICodes[code] {
			d.t.Errorf("the code is %s, want %s", got, code)
		}
		if status == 401 && a.Header.Get("WWW-Authenticate") == "" {
			d.t.Error("401 has no WWW-Authenticate")
		}
	}
	try(d.program(""), 401, "unauthorized")
	try(d.program("afi_"+strings.Repeat("A", 32)), 401, "unauthorized")
	try(d.program("not a key"), 401, "unauthorized")
	try(d.program(d.expiredKey(d.owner, rule.scope)), 401, "unauthorized")
	wrong := map[string][]string{
		records.ScopeImagesRead:  {records.ScopeOpsRead, records.ScopeOpsWrite},
		records.ScopeImagesWrite: {records.ScopeImagesRead, records.ScopeOpsWrite},
		records.ScopeOpsRead:     {records.ScopeImagesRead, records.ScopeImagesWrite},
		records.ScopeOpsWrite:    {records.ScopeImagesWrite, records.ScopeOpsRead},
	}[rule.scope]
	try(d.program(d.key(d.owner, wrong...)), 403, "scope_missing")
	stranger := d.person("s" + records.NewID())
	if strings.HasPrefix(rule.scope, "ops:") {
		try(d.program(d.key(stranger, rule.scope)), 403, "scope_missing") // a member's key
		try(d.browserOf(stranger), 403, "scope_missing")
	}
	if rule.id != "" && !strings.HasPrefix(rule.scope, "ops:") {
		try(d.program(d.key(stranger, rule.scope)), 404, "not_found")
		try(d.browserOf(stranger), 404, "not_found")
	}
}

// knockPerson tries what no key may do, however much it may else.
func (d *door) knockPerson(method, path string, rule access) {
	try := func(who *visitor, status int, code string) {
		d.t.Helper()
		if got := who.call(method, path, rule.body).wants(status).problem(); got != code {
			d.t.Errorf("the code is %s, want %s", got, code)
		}
	}
	try(d.program(""), 401, "unauthorized")
	try(d.program(d.expiredKey(d.owner, records.Scopes...)), 401, "unauthorized")
	try(d.program(d.key(d.owner, records.Scopes...)), 403, "scope_missing")
	if rule.id != "" {
		try(d.browserOf(d.person("s"+records.NewID())), 404, "not_found")
	}
}

// openAICodes are codes that OpenAI's clients know by another name.
var openAICodes = map[string]string{"unauthorized": "invalid_api_key"}

// codeOf is the code of an error, in whichever shape the route has.
func codeOf(a answer) string {
	a.t.Helper()
	if strings.HasPrefix(a.Request.URL.Path, "/v1/") {
		code, _ := a.failure()
		return code
	}
	return a.problem()
}

func (d *door) knockPage(method, path string, rule access) {
	try := func(who *visitor) answer {
		return who.send(method, path, strings.NewReader(rule.body), "Content-Type: application/x-www-form-urlencoded")
	}
	for _, who := range []*visitor{
		d.browser(),
		d.program(d.key(d.owner, records.ScopeImagesWrite)), // a key is no session
		d.program(d.expiredKey(d.owner, records.ScopeImagesWrite)),
	} {
		a := try(who).wants(303)
		if !strings.HasPrefix(a.Header.Get("Location"), "/sign-in") {
			d.t.Errorf("it leads to %s", a.Header.Get("Location"))
		}
	}
	if rule.id != "" || rule.admin {
		try(d.browserOf(d.person("s" + records.NewID()))).wants(404).hasNot("lighthouse")
	}
}

// knockWithNoID tries what is no id, which must not reach a database that does
// not even take every text.
func (d *door) knockWithNoID(method, route string, rule access) {
	for _, id := range []string{"x", "%00", strings.Repeat("a", 31), "..%2f..", strings.Repeat("z", 32)} {
		path := strings.ReplaceAll(route, "{id}", id)
		if rule.kind == "page" {
			d.browserOf(d.owner).send(method, path, strings.NewReader(rule.body), "Content-Type: application/x-www-form-urlencoded").wants(404)
		} else {
			d.browserOf(d.owner).call(method, path, rule.body).wants(404)
		}
	}
}

// writes counts what any of the routes could have written.
func (d *door) writes() int64 {
	var n int64
	d.Get(d.t, &n, `SELECT (SELECT sum(seq) FROM change_heads) + (SELECT count(*) FROM images) + (SELECT count(*) FROM jobs)
		+ (SELECT count(*) FROM api_keys WHERE revoked_at IS NOT NULL) + (SELECT count(*) FROM users WHERE language <> '' OR theme <> '' OR digest_hour IS NOT NULL)
		+ (SELECT count(*) FROM webhooks WHERE old_secret = '') + (SELECT count(*) FROM webhook_deliveries) + (SELECT count(*) FROM paused_kinds)
		+ (SELECT count(*) FROM users WHERE disabled_at IS NOT NULL OR username = 'eve') + (SELECT count(*) FROM reset_tokens)`)
	return n
}
