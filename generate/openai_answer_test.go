package generate

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

func TestOpenAIReadsAnswers(t *testing.T) {
	const png = "\x89PNG\r\n\x1a\n\xfb\xff\xbf???>>>" // its base64 needs + and /
	std := base64.StdEncoding.EncodeToString([]byte(png))
	for _, test := range []struct {
		name, body string
		want       []got
	}{
		{"gpt-image, with everything around it",
			`{"created":1713833628,"background":"opaque","output_format":"png","quality":"high","size":"1024x1024",
			  "data":[{"b64_json":"` + std + `"}],
			  "usage":{"total_tokens":100,"input_tokens_details":{"text_tokens":10}}}`,
			[]got{{Body: png}}},
		{"dall-e-3 link with its revised prompt",
			`{"created":1,"data":[{"revised_prompt":"A \"tall\" lighthouse","url":"https://blob.example/a%2Fb.png?se=2026&sig=x%2By%3D"}]}`,
			[]got{{URL: "https://blob.example/a%2Fb.png?se=2026&sig=x%2By%3D", Revised: `A "tall" lighthouse`}}},
		{"link with escaped ampersands", `{"data":[{"url":"https:\/\/h\/i?a=1\u0026b=2"}]}`, []got{{URL: "https://h/i?a=1&b=2"}}},
		{"both, one of them null", `{"data":[{"url":null,"b64_json":"aGk="},{"b64_json":null,"url":"https://h/2"}]}`,
			[]got{{Body: "hi"}, {Index: 1, URL: "https://h/2"}}},
		{"both: the bytes are in hand", `{"data":[{"url":"https://h/1","b64_json":"aGk="}]}`, []got{{Body: "hi"}}},
		{"empty bytes and a link", `{"data":[{"b64_json":"","url":"https://h/1"}]}`, []got{{URL: "https://h/1"}}},
		{"escapes in base64", `{"data":[{"b64_json":"` + strings.NewReplacer("/", `\/`, "+", `\u002b`, "=", `\u003D`).Replace(std) + `"}]}`, []got{{Body: png}}},
		{"URL alphabet, no padding", `{"data":[{"b64_json":"` + base64.RawURLEncoding.EncodeToString([]byte(png)) + `"}]}`, []got{{Body: png}}},
		{"lines of base64", `{"data":[{"b64_json":"aG\nk=\r\n"}]}`, []got{{Body: "hi"}}},
		{"data URL as bytes", `{"data":[{"b64_json":"data:image/png;base64,` + std + `"}]}`, []got{{Body: png}}},
		{"data URL as link", `{"data":[{"url":"data:image/png;base64,` + std + `"}]}`, []got{{Body: png}}},
		{"one image failed alone", `{"data":[{"url":"https://h/1","size":"2048x2048"},{"error":{"code":"OutputImageSensitiveContentDetected","message":"no"}},{"url":"https://h/3"}]}`,
			[]got{{URL: "https://h/1"}, {Index: 1, Reason: ReasonRefused}, {Index: 2, URL: "https://h/3"}}},
		{"an item with nothing in it", `{"data":[{}]}`, []got{{Reason: ReasonProviderError}}},
		{"a seed", `{"data":[{"seed":42,"url":"https://h/1"}]}`, []got{{URL: "https://h/1", Seed: 42}}},
		{"more than asked for", `{"data":[{"url":"https://h/1"},{"url":"https://h/2"}],"x":[[],{"y":[1,{"z":"]}"}]}]}`, []got{{URL: "https://h/1"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := openAIServer(t, answering(200, test.body))
			n := len(test.want)
			out, err := collect(t, p, Request{Prompt: "x", N: n})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(out, test.want) {
				t.Errorf("got %+v, want %+v", out, test.want)
			}
		})
	}
	t.Run("a link without its host", func(t *testing.T) {
		p := openAIServer(t, answering(200, `{"data":[{"url":"/generated/1.png"}]}`))
		out, err := collect(t, p, Request{Prompt: "x"})
		if err != nil || out[0].URL != p.api.origin+"/generated/1.png" {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}

// Everything that four images of 3 MB allocate, the server's side of the test
// included, is less than one of them.
func TestOpenAIHoldsNoWholeAnswer(t *testing.T) {
	const images, size = 4, 3 << 20
	chunk := strings.Repeat("QUJD", 16<<10)
	p := openAIServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `{"data":[`)
		for i := range images {
			_, _ = io.WriteString(w, strings.Repeat(",", min(i, 1))+`{"b64_json":"`)
			for sent := 0; sent < size/3*4; sent += len(chunk) {
				_, _ = io.WriteString(w, chunk)
			}
			_, _ = io.WriteString(w, `"}`)
		}
		_, _ = io.WriteString(w, `]}`)
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var read int64
	_, err := p.Generate(t.Context(), Request{Prompt: "x", N: images}, func(o Output) error {
		n, err := io.Copy(io.Discard, o.Body)
		read += n
		return err
	})
	runtime.ReadMemStats(&after)
	if err != nil || read < images*(size-1<<16) {
		t.Errorf("read %d bytes, %v", read, err)
	}
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > size/2 {
		t.Errorf("%d bytes were allocated", allocated)
	}
}

func TestOpenAIEndsAnAnswerThatNeverEnds(t *testing.T) {
	for name, start := range map[string]string{"bytes": `{"data":[{"b64_json":"`, "a field": `{"x":"`, "a link": `{"data":[{"url":"`} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, err := io.WriteString(w, start)
				for chunk := strings.Repeat("QUJD", 4<<10); err == nil; {
					_, err = io.WriteString(w, chunk)
				}
			}))
			defer server.Close()
			p, err := NewOpenAI(OpenAIConfig{BaseURL: server.URL, MaxBytes: 1 << 20})
			if err != nil {
				t.Fatal(err)
			}
			_, err = collect(t, p, Request{Prompt: "x"})
			if e, ok := errors.AsType[*Error](err); !ok || e.Reason != ReasonProviderError {
				t.Errorf("got %v", err)
			}
		})
	}
}

// FuzzAnswer: whatever a server sends, reading it ends, and only with errors of ours.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"data":[{"b64_json":"aGk=","revised_prompt":"x"},{"url":"https://h/1"}]}`)
	f.Add(`{"data":[{"error":{"code":1}},{"url":"data:,"}],"error":null}`)
	f.Add(`{"a":[{"b":"\"]}"}],"data":[{"b64_json":"\u0041\/=="}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		seen := map[int]bool{}
		err := readAnswer(strings.NewReader(body), 2, 1<<20, func(o Output) error {
			if seen[o.Index] || o.Index > 1 {
				t.Errorf("image %d twice or not asked for", o.Index)
			}
			seen[o.Index] = true
			if o.Body == nil {
				return nil
			}
			_, err := io.Copy(io.Discard, o.Body)
			return err
		})
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok {
				t.Errorf("got %T %v", err, err)
			}
		}
	})
}
