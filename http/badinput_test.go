package http_test

import (
	"fmt"
	"strings"
	"testing"

	"afterimage/records"
)

func TestBadRequestsOfPrograms(t *testing.T) {
	book := strings.Repeat("x", 100<<10)
	cases := []struct{ name, path, body, code, field string }{
		{"an empty prompt", "generations", `{"prompt":""}`, "invalid_field", "prompt"},
		{"a prompt of spaces", "generations", `{"prompt":" \n "}`, "invalid_field", "prompt"},
		{"no prompt", "generations", `{}`, "invalid_field", "prompt"},
		{"a prompt of 100 KB", "generations", `{"prompt":"` + book + `"}`, "invalid_field", "prompt"},
		{"a prompt with NUL", "generations", `{"prompt":"a\u0000b"}`, "invalid_field", "prompt"},
		{"n = 0", "generations", `{"prompt":"a fox","n":0}`, "invalid_field", "n"},
		{"n = 1000", "generations", `{"prompt":"a fox","n":1000}`, "invalid_field", "n"},
		{"n that is no number", "generations", `{"prompt":"a fox","n":"two"}`, "invalid_field", "n"},
		{"n beyond any integer", "generations", `{"prompt":"a fox","n":1e99}`, "invalid_field", "n"},
		{"an unknown provider", "generations", `{"prompt":"a fox","provider":"nobody"}`, "invalid_field", "provider"},
		{"an unknown model", "generations", `{"prompt":"a fox","model":"none"}`, "invalid_field", "model"},
		{"an unknown model of a provider", "generations", `{"prompt":"a fox","model":"demo/none"}`, "invalid_field", "model"},
		{"a size below zero", "generations", `{"prompt":"a fox","size":"-1x5"}`, "invalid_field", "size"},
		{"a size beyond the model's", "generations", `{"prompt":"a fox","size":"99999x99999"}`, "invalid_field", "size"},
		{"a size beyond any integer", "generations", `{"prompt":"a fox","size":"99999999999999999999x1"}`, "invalid_field", "size"},
		{"a size in words", "generations", `{"prompt":"a fox","size":"large"}`, "invalid_field", "size"},
		{"a seed below zero", "generations", `{"prompt":"a fox","seed":-1}`, "invalid_field", "seed"},
		{"params of a book", "generations", `{"prompt":"a fox","params":{"style":"` + book + `"}}`, "invalid_field", "params"},
		{"no JSON", "generations", `prompt=a+fox`, "not_json", ""},
		{"half of JSON", "generations", `{"prompt":"a f`, "not_json", ""},
		{"an array", "generations", `[]`, "not_json", ""},
		{"two objects", "generations", `{"prompt":"a fox"}{}`, "not_json", ""},
		{"no body", "generations", ``, "not_json", ""},
		{"an unknown field", "generations", `{"prompt":"a fox","promt":"a wolf"}`, "unknown_field", "promt"},
		{"a body of 2 MB", "generations", `{"prompt":"` + strings.Repeat("x", 2<<20) + `"}`, "body_too_large", ""},

		{"an import of nothing", "images/import", `{"items":[]}`, "invalid_field", "items"},
		{"an import of 1,001", "images/import", `{"items":[` + strings.Repeat(`{"url":"https://a.example/"},`, 1000) + `{"url":"https://a.example/"}]}`, "invalid_field", "items"},
		{"an import without an address", "images/import", `{"items":[{"url":"https://a.example/"},{}]}`, "invalid_field", "items[1].url"},
		{"an import with NUL", "images/import", `{"items":[{"url":"https://a.example/","model":"\u0000"}]}`, "invalid_field", "items[0].model"},
	}
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		for _, c := range cases {
			w.run(c.name, func(t *testing.T) {
				a := p.call("POST", "/api/v1/"+c.path, c.body)
				if a.StatusCode < 400 || a.StatusCode > 422 {
					t.Errorf("the status is %d", a.StatusCode)
				}
				if code := a.problem(); code != c.code {
					t.Errorf("the code is %s, want %s", code, c.code)
				}
				var field struct{ Field string }
				if a.into(&field); field.Field != c.field {
					t.Errorf("the field is %q, want %q", field.Field, c.field)
				}
			})
		}
		w.nothingWasMade()
	})
}

// nothingWasMade fails the test if anything is half done.
func (w *world) nothingWasMade() {
	w.t.Helper()
	for _, table := range []string{"generations", "images", "imports", "jobs", "idempotency_keys"} {
		var n int
		w.Get(w.t, &n, "SELECT count(*) FROM "+table)
		if n != 0 {
			w.t.Errorf("%s has %d rows", table, n)
		}
	}
}

func TestBadQueriesOfPrograms(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesRead))
		for _, c := range []struct{ path, code string }{
			{"images?limit=0", "invalid_field"},
			{"images?limit=201", "invalid_field"},
			{"images?limit=x", "invalid_field"},
			{"images?status=great", "invalid_field"},
			{"images?from=yesterday", "invalid_field"},
			{"images?to=99999-01-01T00:00:00Z", "invalid_field"},
			{"images?favorite=perhaps", "invalid_field"},
			{"images?q=%00", "invalid_field"},
			{"images?q=%ff", "invalid_field"},
			{"images?q=" + strings.Repeat("x", 201), "invalid_field"},
			{"images?provider=%00", "invalid_field"},
			{"images?cursor=nonsense", "bad_cursor"},
			{"history?since=nonsense", "bad_cursor"},
			{"history?wait=31s", "invalid_field"},
			{"history?wait=-1s", "invalid_field"},
			{"history?wait=x", "invalid_field"},
			{"nothing", "not_found"},
		} {
			w.run(c.path[:min(30, len(c.path))], func(t *testing.T) {
				if code := p.get("/api/v1/" + c.path).problem(); code != c.code {
					t.Errorf("the code is %s, want %s", code, c.code)
				}
			})
		}
		a := p.call("PUT", "/api/v1/images", "").wants(405)
		if a.problem() != "method_not_allowed" || strings.Join(a.Header.Values("Allow"), " ") != "GET HEAD" {
			t.Errorf("405 says %s and allows %v", a.problem(), a.Header.Values("Allow"))
		}
		p.send("HEAD", "/api/v1/images", nil).wants(200)
	})
}

func TestBadForms(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.browserOf(w.person("ann"))
		for _, c := range []struct{ name, field, value, says string }{
			{"an empty prompt", "prompt", "  ", "The prompt is empty."},
			{"a prompt of 100 KB", "prompt", strings.Repeat("x", 100<<10), "The prompt is longer than 4,000 characters."},
			{"a prompt that is no text", "prompt", "\xff\x00", "did not accept"},
			{"a book to leave out", "negative_prompt", strings.Repeat("x", 5000), "longer than 4,000 characters."},
			{"n = 0", "n", "0", "between 1 and 10"},
			{"n = 1000", "n", "1000", "between 1 and 10"},
			{"n in words", "n", "two", "between 1 and 10"},
			{"an unknown provider", "model", "nobody/none", "available any more"},
			{"an unknown model", "model", "demo/none", "available any more"},
			{"a size below zero", "size", "-1x5", "make that size"},
			{"a size beyond the model's", "size", "99999x99999", "make that size"},
			{"a seed in words", "seed", "lucky", "not a whole number"},
			{"a seed below zero", "seed", "-1", "not a whole number"},
		} {
			w.run(c.name, func(t *testing.T) {
				form := b.get("/create").fill("/create", "prompt", "a fox")
				form.Set(c.field, c.value)
				b.sendForm("/create", form).wants(422).has(c.says)
			})
		}
		b.submit("/create", "prompt", strings.Repeat("x", 2<<20)).wants(413).has("Too large")
		b.send("POST", "/create", strings.NewReader("%zz"), "Content-Type: application/x-www-form-urlencoded").wants(400)
		for _, path := range []string{"/?status=great", "/?cursor=nonsense", "/trash?cursor=nonsense"} {
			b.get(path).wants(400)
		}
		b.get("/?q=%00").wants(422)
		b.get("/create?from=nonsense").wants(404)
		w.nothingWasMade()
	})
}

// A form that is refused keeps what was typed.
func TestARefusedFormKeepsItsFields(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		b := w.browserOf(w.person("ann"))
		form := b.get("/create").fill("/create", "prompt", "a <fox>\r\nin snow", "negative_prompt", "wolves", "size", "512x512", "n", "3", "seed", "x")
		again := b.sendForm("/create", form).wants(422).fill("/create")
		for field, want := range map[string]string{"prompt": "a <fox>\nin snow", "negative_prompt": "wolves", "size": "512x512", "n": "3", "seed": "x", "model": "demo/demo"} {
			if got := again.Get(field); got != want {
				t.Errorf("%s is %q, want %q", field, got, want)
			}
		}
		again.Set("seed", "9")
		b.sendForm("/create", again).leadsTo("/create")
		images, err := w.Images(t.Context(), b.user(), records.ImageFilter{Limit: 10})
		if err != nil || len(images) != 3 {
			t.Fatalf("%d images were asked for, want 3 (%v)", len(images), err)
		}
		if i := images[0]; i.Prompt != "a <fox>\nin snow" || i.NegativePrompt != "wolves" || i.Width != 512 || fmt.Sprint(i.Params["seed"]) != "9" {
			t.Errorf("what was asked for is %+v", i)
		}
	})
}
