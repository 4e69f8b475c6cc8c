package http_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
)

// description is /api/openapi.json as a program reads it.
type description struct {
	Paths      map[string]map[string]descOp
	Components struct{ Schemas map[string]schema }
}

type descOp struct {
	Scope     string `json:"x-scope"`
	Responses map[string]struct {
		Content map[string]struct{ Schema schema }
	}
}

type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Properties map[string]schema
	Required   []string
	Items      *schema
	AnyOf      []schema
	Enum       []string
	More       *schema `json:"additionalProperties"`
}

func (w *world) description() (d description) {
	w.t.Helper()
	w.browser().get("/api/openapi.json").wants(200).into(&d)
	return d
}

func TestEveryRouteIsDescribedAsItIs(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.description()
		described := map[string]string{}
		for path, ops := range d.Paths {
			for method, op := range ops {
				described[strings.ToUpper(method)+" "+path] = op.Scope
			}
		}
		err := chi.Walk(w.server.Router(), func(method, route string, _ nethttp.Handler, _ ...func(nethttp.Handler) nethttp.Handler) error {
			name := method + " " + strings.TrimSuffix(route, "/")
			if !strings.HasPrefix(route, "/api/v1/") {
				return nil
			}
			scope, ok := described[name]
			rule := routeTable[name]
			want := rule.scope
			if rule.kind == "person" {
				want = "person"
			}
			if !ok || scope != want {
				t.Errorf("%s is described as %q (%v), the route needs %q", name, scope, ok, want)
			}
			delete(described, name)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for name := range described {
			t.Errorf("%s is described, but there is no such route", name)
		}
	})
}

// Answers of the real server have exactly the fields that are described.
func TestAnswersAreAsDescribed(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		d := w.description()
		root := w.admin("root")
		b := w.browserOf(root)
		g, images := w.asks(root, "a fox", 2)
		gone := w.imports(root, "gone")
		w.state(gone.ID, records.ArchiveFailed, "source_expired")
		sessions, err := w.Sessions(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		hook := struct{ ID string }{}
		b.call("POST", "/api/v1/webhooks", `{"url":"https://a.example/","events":["image.archived"]}`).wants(201).into(&hook)
		imported := struct{ ID string }{}
		b.call("POST", "/api/v1/images/import", `{"items":[{"url":"https://a.example/a.png"}]}`).wants(202).into(&imported)
		ids := map[string]string{"generations": g.ID, "images": images[0].ID, "imports": imported.ID, "webhooks": hook.ID, "users": root, "sessions": sessions[0].ID}
		bodies := map[string]string{"/generations": `{"prompt":"a fox"}`, "/images/import": `{"items":[{"url":"https://a.example/b.png"}]}`,
			"/images/bulk": `{"action":"favorite","ids":["` + images[0].ID + `"]}`, "/images/{id}": `{"favorite":true}`,
			"/keys": `{"name":"k","scopes":["images:read"]}`, "/users": `{"username":"eve"}`, "/users/{id}": `{"quota_bytes":1}`,
			"/archive/retry": `{"reason":"source_error"}`, "/jobs/revive": `{"kind":"archive"}`, "/webhooks": `{"url":"https://b.example/","events":["image.archived"]}`}
		compared := 0
		for path, ops := range d.Paths {
			for method, op := range ops {
				short := strings.TrimPrefix(path, "/api/v1")
				if method == "delete" || strings.HasSuffix(short, "/verify") || strings.HasSuffix(short, "/retry") || op.json() == nil {
					continue
				}
				real := strings.ReplaceAll(path, "{id}", ids[strings.Split(short, "/")[1]])
				a := b.call(strings.ToUpper(method), real, bodies[short])
				if method == "get" {
					a = b.get(real)
				}
				if _, ok := op.Responses[strconv.Itoa(a.StatusCode)]; !ok {
					t.Errorf("%s %s answers %d: %s", method, path, a.StatusCode, firstBytes(a.body))
					continue
				}
				var got any
				a.into(&got)
				d.compare(t, method+" "+path, *op.json(), got)
				compared++
			}
		}
		if compared < 25 {
			t.Errorf("only %d answers were compared", compared)
		}
		var problem any
		b.get("/api/v1/images?limit=0").wants(422).into(&problem)
		d.compare(t, "a problem", schema{Ref: "#/components/schemas/Problem"}, problem)
	})
}

// json is the schema of an answer that has one.
func (o descOp) json() *schema {
	for _, r := range o.Responses {
		if c, ok := r.Content["application/json"]; ok {
			return &c.Schema
		}
	}
	return nil
}

func (d description) compare(t *testing.T, where string, s schema, got any) {
	t.Helper()
	if s.Ref != "" {
		s = d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	if len(s.AnyOf) > 0 {
		if got != nil {
			d.compare(t, where, s.AnyOf[0], got)
		}
		return
	}
	if s.Type == nil {
		return
	}
	if kind := kindOf(got); !strings.Contains(fmt.Sprint(s.Type), kind) && !(kind == "number" && strings.Contains(fmt.Sprint(s.Type), "integer")) {
		t.Errorf("%s is %s, described as %v", where, kind, s.Type)
		return
	}
	switch v := got.(type) {
	case []any:
		for _, item := range v {
			d.compare(t, where+"[]", *s.Items, item)
		}
	case map[string]any:
		for name, value := range v {
			field, ok := s.Properties[name]
			if !ok && s.More != nil {
				field, ok = *s.More, true
			}
			if !ok {
				t.Errorf("%s has %q, which is not described", where, name)
				continue
			}
			d.compare(t, where+"."+name, field, value)
		}
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				t.Errorf("%s lacks %q", where, name)
			}
		}
	}
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// A code that the server may give and nobody explains is a defect.
func TestEveryCodeIsDescribed(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "problem.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "code") {
			code, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			codes = append(codes, code)
		}
		return true
	})
	each(t, func(t *testing.T, w *world) {
		described := w.description().Components.Schemas["Problem"].Properties["code"].Enum
		slices.Sort(codes)
		slices.Sort(described)
		if !slices.Equal(codes, described) {
			t.Errorf("the server has %v,\nthe description %v", codes, described)
		}
		page := w.browser().get("/api/docs").wants(200)
		for _, code := range codes {
			page.has(code)
		}
		page.hasNot("http://cdn", "https://cdn")
	})
}
