package http_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"
	"mime/multipart"
	nethttp "net/http"
	"net/http/httptest"
	"net/textproto"
	"strings"
	"sync"
	"testing"

	"afterimage/generate"
	"afterimage/http"
	"afterimage/records"
	"afterimage/records/recordstest"
)

// maker is a server that speaks OpenAI's API, as its documentation gives it.
type maker struct {
	*httptest.Server
	mu     sync.Mutex
	calls  int
	images []string // the files of the last edit, the mask last
	fields map[string][]string
	begun  chan struct{} // not nil: each call is announced here
	let    chan struct{} // and waits for this
}

func newMaker(t *testing.T) *maker {
	m := &maker{}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *maker) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	m.mu.Lock()
	m.calls++
	if strings.HasSuffix(r.URL.Path, "/edits") && r.ParseMultipartForm(1<<20) == nil {
		m.images, m.fields = nil, r.MultipartForm.Value
		for _, name := range []string{"image", "image[]", "mask"} {
			for _, file := range r.MultipartForm.File[name] {
				f, _ := file.Open()
				content, _ := io.ReadAll(f)
				m.images = append(m.images, string(content))
			}
		}
	}
	m.mu.Unlock()
	io.Copy(io.Discard, r.Body)
	if m.begun != nil {
		m.begun <- struct{}{}
		<-m.let
	}
	fmt.Fprintf(w, `{"created":1,"data":[{"b64_json":%q}]}`, base64.StdEncoding.EncodeToString(drawing(8, 8)))
}

func (m *maker) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls
}

// withMaker adds a provider that is such a server.
func withMaker(t *testing.T, m *maker) func(*http.Config) {
	return func(c *http.Config) {
		p, err := generate.NewOpenAI(generate.OpenAIConfig{BaseURL: m.URL, Models: []string{"gpt-image-1", "dall-e-3"}})
		if err != nil {
			t.Fatal(err)
		}
		c.Providers = append(c.Providers, p)
	}
}

// drawing is a small PNG.
func drawing(width, height int) []byte {
	var b bytes.Buffer
	png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, width, height))) // into memory: cannot fail
	return b.Bytes()
}

func photo(width, height int) []byte {
	picture := image.NewNRGBA(image.Rect(0, 0, width, height))
	picture.Set(1, 1, color.White)
	var b bytes.Buffer
	jpeg.Encode(&b, picture, nil)
	return b.Bytes()
}

func dataURL(content []byte) string {
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(content)
}

// form is a multipart body of names and values; a []byte is a file.
func formOf(pairs ...any) (io.Reader, string) {
	var b bytes.Buffer
	f := multipart.NewWriter(&b)
	for n := 0; n < len(pairs); n += 2 {
		name := pairs[n].(string)
		switch v := pairs[n+1].(type) {
		case string:
			f.WriteField(name, v)
		case []byte:
			part, _ := f.CreatePart(textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name=%q; filename="a.png"`, name)}})
			part.Write(v)
		}
	}
	f.Close()
	return &b, "Content-Type: " + f.FormDataContentType()
}

func (v *visitor) upload(path string, pairs ...any) answer {
	v.w.t.Helper()
	body, kind := formOf(pairs...)
	return v.send("POST", path, body, kind)
}

func TestEditsStartFromImages(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		m := newMaker(t)
		w := newWorld(t, c, withMaker(t, m))
		w.works(append(w.generating(), w.archiving()...)...)
		ann := w.person("ann")
		p := w.program(w.key(ann, records.ScopeImagesWrite))
		one, two, mask := drawing(32, 16), photo(20, 20), drawing(32, 16)
		var own imagesAnswer
		p.call("POST", "/v1/images/generations", `{"prompt":"a fox","model":"demo","size":"32x16"}`).wants(200).into(&own)
		id := own.Data[0].Afterimage.ID
		mine := p.get("/img/" + id).body

		for _, c := range []struct {
			name string
			send func() answer
			want []string
		}{
			{"a form", func() answer {
				return p.upload("/v1/images/edits", "model", "gpt-image-1", "prompt", "a hat", "image", one, "mask", mask, "n", "1", "output_compression", "50", "quality", "high")
			}, []string{string(one), string(mask)}},
			{"a form with a list", func() answer {
				return p.upload("/v1/images/edits", "image[]", one, "image[]", two, "prompt", "a hat", "response_format", "b64_json")
			}, []string{string(one), string(two)}},
			{"JSON with data", func() answer {
				return p.call("POST", "/v1/images/edits", fmt.Sprintf(`{"prompt":"a hat","images":[{"image_url":%q}],"mask":{"image_url":%q}}`, dataURL(one), dataURL(mask)))
			}, []string{string(one), string(mask)}},
			{"JSON with an own image by its id", func() answer {
				return p.call("POST", "/v1/images/edits", fmt.Sprintf(`{"prompt":"a hat","images":[{"file_id":%q}],"mask":{"image_url":%q}}`, id, dataURL(mask)))
			}, []string{mine, string(mask)}},
			{"JSON with an own image by its address", func() answer {
				return p.call("POST", "/v1/images/edits", fmt.Sprintf(`{"prompt":"a hat","images":[{"image_url":%q}]}`, w.url+"/img/"+id))
			}, []string{mine}},
		} {
			w.run(c.name, func(t *testing.T) {
				var got imagesAnswer
				c.send().wants(200).into(&got)
				if len(got.Data) != 1 || !bytes.HasPrefix(got.Data[0].B64JSON, []byte("\x89PNG")) {
					t.Fatalf("the answer is %+v", got)
				}
				if fmt.Sprintf("%q", m.images) != fmt.Sprintf("%q", c.want) {
					t.Errorf("the provider got %d images, want %d, or others", len(m.images), len(c.want))
				}
				if v := m.fields["output_compression"]; c.name == "a form" && (len(v) != 1 || v[0] != "50") {
					t.Errorf("the fields are %v", m.fields)
				}
			})
		}
		w.run("our own API", func(t *testing.T) {
			for _, c := range []struct {
				send func() answer
				want string
			}{
				{func() answer {
					return p.call("POST", "/api/v1/generations", fmt.Sprintf(`{"prompt":"a hat","model":"openai/gpt-image-1","images":[{"id":%q}],"mask":{"url":%q}}`, id, dataURL(mask)))
				}, mine},
				{func() answer {
					return p.upload("/api/v1/generations", "prompt", "a hat", "model", "gpt-image-1", "image", one, "mask", mask)
				}, string(one)},
			} {
				var made struct{ Images []kept }
				c.send().wants(202).into(&made)
				p.waitUntil(made.Images[0].ID, "archived")
				if len(m.images) != 2 || m.images[0] != c.want || m.images[1] != string(mask) {
					t.Errorf("the provider got %d images, or others", len(m.images))
				}
			}
		})
		w.noUploads()
	})
}

// noUploads fails the test if an upload is left in the spool.
func (w *world) noUploads() {
	w.t.Helper()
	for id, err := range w.spool.List() {
		if _, notFound := w.ImageByLink(w.t.Context(), id); err != nil || notFound != nil {
			w.t.Errorf("the spool has the upload %s (%v)", id, err)
		}
	}
}

func TestBadEdits(t *testing.T) {
	recordstest.EachConfig(t, func(t *testing.T, c records.Config) {
		m := newMaker(t)
		w := newWorld(t, c, withMaker(t, m))
		p := w.program(w.key(w.person("ann"), records.ScopeImagesWrite))
		other := w.imports(w.person("bob"), "not hers")
		one := drawing(32, 16)
		edit := func(pairs ...any) func() answer {
			return func() answer { return p.upload("/v1/images/edits", append(pairs, "prompt", "a hat")...) }
		}
		from := func(address string) func() answer {
			return func() answer {
				return p.call("POST", "/v1/images/edits", fmt.Sprintf(`{"prompt":"a hat","images":[%s]}`, address))
			}
		}
		many := []any{}
		for range 17 {
			many = append(many, "image[]", drawing(1, 1))
		}
		before := w.images()
		for _, c := range []struct {
			name   string
			send   func() answer
			status int
			param  string
		}{
			{"no image", edit(), 400, "image"},
			{"no prompt", func() answer { return p.upload("/v1/images/edits", "image", one) }, 400, "prompt"},
			{"a text for an image", edit("image", []byte("<html>not an image</html>")), 400, "image"},
			{"half an image", edit("image", one[:len(one)-10]), 400, "image"},
			{"an empty image", edit("image", []byte{}), 400, "image"},
			{"a field for an image", edit("image", "https://a.example/a.png"), 400, "image"},
			{"60 MB", edit("image", append(drawing(1, 1), make([]byte, 60<<20)...)), 413, "image"},
			{"a mask of another size", edit("image", one, "mask", drawing(16, 32)), 400, "mask"},
			{"a mask that is a photo", edit("image", one, "mask", photo(32, 16)), 400, "mask"},
			{"a mask alone", edit("mask", one), 400, "image"},
			{"17 images", edit(many...), 400, "image"},
			{"a model of words alone", edit("image", one, "model", "demo"), 404, "model"},
			{"a file of another name", edit("image", one, "audio", one), 400, "audio"},
			{"an address that points inside", from(`{"image_url":"http://127.0.0.1:1/a.png"}`), 400, "images[0]"},
			{"the metadata address", from(`{"image_url":"http://169.254.169.254/latest/meta-data/"}`), 400, "images[0]"},
			{"the provider's own address", from(fmt.Sprintf(`{"image_url":%q}`, m.URL+"/a.png")), 400, "images[0]"},
			{"a file's address", from(`{"image_url":"file:///etc/passwd"}`), 400, "images[0]"},
			{"somebody else's image", from(fmt.Sprintf(`{"file_id":%q}`, other.ID)), 400, "images[0]"},
			{"somebody else's image by its address", from(fmt.Sprintf(`{"image_url":%q}`, w.url+"/img/"+other.ID)), 400, "images[0]"},
			{"an image that is a number", from(`7`), 400, "images[0]"},
			{"data that is no image", from(fmt.Sprintf(`{"image_url":%q}`, dataURL([]byte("hello")))), 400, "images[0]"},
			{"images that are no list", func() answer { return p.call("POST", "/v1/images/edits", `{"prompt":"a hat","images":"a.png"}`) }, 400, "images"},
			{"a form that breaks off", func() answer {
				body, kind := formOf("image", one, "prompt", "a hat")
				return p.send("POST", "/v1/images/edits", io.LimitReader(body, 150), kind)
			}, 400, ""},
		} {
			w.run(c.name, func(t *testing.T) {
				a := c.send().wants(c.status)
				if code, param := a.failure(); param != c.param {
					t.Errorf("%s blames %q, want %q: %s", code, param, c.param, a.body)
				}
				a.hasNot("127.0.0.1", "passwd")
			})
		}
		if m.count() != 0 || w.images() != before {
			t.Errorf("the provider was called %d times, %d images were asked for", m.count(), w.images()-before)
		}
		w.noUploads()
	})
}

// images counts all of them.
func (w *world) images() (n int) {
	w.Get(w.t, &n, `SELECT count(*) FROM images`)
	return n
}
