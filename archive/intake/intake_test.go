package intake_test

import (
	"fmt"
	"strings"
	"testing"

	"afterimage/archive/intake"
)

// Every form of list gives the images that a person sees in it, and a line that
// is none does not hide the next ones.
func TestRead(t *testing.T) {
	tests := []struct {
		name, list string
		want       []string
	}{
		{"addresses, one a line", "https://a.example/1.png\r\n\n# a note\n  https://a.example/2.png,x  ", []string{"1 https://a.example/1.png", "4 https://a.example/2.png,x"}},
		{"nothing", "", nil},
		{"a mark in front of UTF-8", "\xef\xbb\xbfhttps://a.example/1.png", []string{"1 https://a.example/1.png"}},
		{"a table", "prompt,url,model\n\"a fox, at dawn\",https://a.example/1.png,m\nno address,,m\n灯塔,https://a.example/2.png,\n",
			[]string{"2 https://a.example/1.png a fox, at dawn (/m)", "3 error", "4 https://a.example/2.png 灯塔"}},
		{"a table with semicolons", "Image_URL;Title\nhttps://a.example/1.png;fox\n", []string{"2 https://a.example/1.png fox"}},
		{"a table with a line too short", "prompt\turl\nfox\nfox\thttps://a.example/1.png\n", []string{"2 error", "3 https://a.example/1.png fox"}},
		{"JSON, one a line", `{"url":"https://a.example/1.png","prompt":"fox","provider":"p","model":"m"}` + "\n{broken\n\n" + `{"url":"https://a.example/2.png"}`,
			[]string{"1 https://a.example/1.png fox (p/m)", "2 error", "4 https://a.example/2.png"}},
		{"JSON of another thing", `{"hello":1}` + "\n[1]\n", []string{"1 error", "2 error"}},
		{"an array over several lines", "[\n {\"url\": \"https://a.example/1.png\"},\n \"https://a.example/2.png\"\n]", []string{"1 https://a.example/1.png", "2 https://a.example/2.png"}},
		{"what our API takes", `{"items":[{"url":"https://a.example/1.png","prompt":"fox"},{"url":"https://a.example/2.png"}]}`,
			[]string{"1 https://a.example/1.png fox", "1 https://a.example/2.png"}},
		{"an OpenAI answer", `{"created":1700000000,"data":[{"url":"https://a.example/1.png","revised_prompt":"a red fox"},{"b64_json":"aGVsbG8="},{"b64_json":"!"}]}`,
			[]string{"1 https://a.example/1.png a red fox 2023", "1 bytes hello 2023", "1 error"}},
		{"a log of questions and answers", `{"request":{"prompt":"fox","model":"gpt-image-1"},"response":{"created":1700000000,"data":[{"b64_json":"aGVsbG8="}]}}`,
			[]string{"1 bytes hello fox (/gpt-image-1) 2023"}},
		{"a batch's file", `{"custom_id":"x","body":{"prompt":"fox","model":"m"},"response":{"status_code":200,"body":{"data":[{"url":"https://a.example/1.png"}]}}}`,
			[]string{"1 https://a.example/1.png fox (/m)"}},
		{"our own export", `{"version":1,"id":"d6i2kg3obg6b07rm028vl8civgvvg26m","owner":"ann","prompt":"fox","file":"images/ann/x.png","sha256":"ab","status":"archived"}` + "\n" +
			`{"version":1,"id":"d6i2kg3obg6b07rm028vl8civgvvg26n","owner":"ann","status":"archive_failed"}`, []string{"1 file images/ann/x.png fox"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for i := range intake.Read(strings.NewReader(test.list)) {
				got = append(got, say(i))
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("read %q\nwant %q", got, test.want)
			}
		})
	}
}

func say(i intake.Item) string {
	words := []string{fmt.Sprint(i.Line)}
	switch {
	case i.Err != nil:
		return words[0] + " error"
	case i.Data != nil:
		words = append(words, "bytes", string(i.Data))
	case i.File != "":
		words = append(words, "file", i.File)
	default:
		words = append(words, i.URL)
	}
	if i.Prompt != "" {
		words = append(words, i.Prompt)
	}
	if i.Model != "" {
		words = append(words, fmt.Sprintf("(%s/%s)", i.Provider, i.Model))
	}
	if !i.CreatedAt.IsZero() {
		words = append(words, i.CreatedAt.Format("2006"))
	}
	return strings.Join(words, " ")
}

// A picture, or a database, is no list: its bytes must not become addresses.
func TestReadRefusesWhatIsNoText(t *testing.T) {
	n := 0
	for item := range intake.Read(strings.NewReader("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\nhttps://a.example/a.png\n")) {
		if n++; item.Err == nil || item.URL != "" {
			t.Errorf("it gave %+v", item)
		}
	}
	if n != 1 {
		t.Errorf("it gave %d items, want one that says why", n)
	}
}
