// Command testclients uses OpenAI's own Go library against an Afterimage, as a
// program would that knows nothing of it: only the base URL and the key are
// other ones. It prints a line for each thing that works and ends with 1 at the
// first that does not. client.cjs does the same with the npm package.
//
// It is a module of its own, so that the library is no dependency of the app.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

func main() {
	c := client{Client: openai.NewClient(), name: "go"} // OPENAI_BASE_URL, OPENAI_API_KEY
	for _, step := range []struct {
		name string
		run  func(ctx context.Context) error
	}{
		{"list models", c.models},
		{"generate a url", c.url},
		{"generate b64_json", c.bytes},
		{"generate n=3", c.three},
		{"stream with partial images", c.stream},
		{"edit with a mask", c.edit},
		{"an error of each class", c.errors},
		{"time-outs with its own retries", c.timeouts},
	} {
		if err := step.run(context.Background()); err != nil {
			fmt.Printf("FAIL %s: %v\n", step.name, err)
			os.Exit(1)
		}
		fmt.Printf("ok %s\n", step.name)
	}
}

type client struct {
	openai.Client
	name string
}

func (c client) prompt(words string) string { return c.name + ": " + words }

func (c client) models(ctx context.Context) error {
	page, err := c.Models.List(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, m := range page.Data {
		ids = append(ids, m.ID)
	}
	if !slices.Contains(ids, "openai/gpt-image-1") || !slices.Contains(ids, "demo/demo") {
		return fmt.Errorf("the models are %v", ids)
	}
	m, err := c.Models.Get(ctx, "openai/dall-e-3")
	if err == nil && m.OwnedBy != "openai" {
		err = fmt.Errorf("the model is %+v", m)
	}
	return err
}

func (c client) url(ctx context.Context) error {
	got, err := c.Images.Generate(ctx, openai.ImageGenerateParams{Prompt: c.prompt("url"), Model: "dall-e-3",
		ResponseFormat: openai.ImageGenerateParamsResponseFormatURL, Size: openai.ImageGenerateParamsSize1024x1024})
	if err != nil {
		return err
	}
	resp, err := http.Get(got.Data[0].URL)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	picture, err := io.ReadAll(resp.Body)
	if err != nil || !isPNG(picture) || got.Data[0].B64JSON != "" || got.Data[0].RevisedPrompt == "" {
		return fmt.Errorf("%s is %s with %d bytes, %v: %s", got.Data[0].URL, resp.Status, len(picture), err, got.RawJSON())
	}
	return nil
}

func (c client) bytes(ctx context.Context) error {
	for _, p := range []openai.ImageGenerateParams{
		{Prompt: c.prompt("bytes"), Model: "gpt-image-1"},
		{Prompt: c.prompt("bytes of a link"), Model: "dall-e-2", ResponseFormat: openai.ImageGenerateParamsResponseFormatB64JSON},
	} {
		got, err := c.Images.Generate(ctx, p)
		if err != nil {
			return err
		}
		if d := got.Data[0]; !isPNG(decode(d.B64JSON)) || d.URL != "" || got.OutputFormat != "png" {
			return fmt.Errorf("%s gives %.300s", p.Model, got.RawJSON())
		}
	}
	return nil
}

func (c client) three(ctx context.Context) error {
	got, err := c.Images.Generate(ctx, openai.ImageGenerateParams{Prompt: c.prompt("three"), Model: "openai/gpt-image-1", N: openai.Int(3)})
	if err != nil {
		return err
	}
	ids := map[string]bool{}
	for _, d := range got.Data {
		var ours struct{ ID, Status, SHA256 string }
		if err := json.Unmarshal([]byte(d.JSON.ExtraFields["afterimage"].Raw()), &ours); err != nil {
			return err
		}
		if ours.SHA256 == "" || ours.Status == "" || !isPNG(decode(d.B64JSON)) {
			return fmt.Errorf("an image is %+v", ours)
		}
		ids[ours.ID] = true
	}
	if len(ids) != 3 {
		return fmt.Errorf("there are %d images: %v", len(got.Data), ids)
	}
	return nil
}

func (c client) stream(ctx context.Context) error {
	events := c.Images.GenerateStreaming(ctx, openai.ImageGenerateParams{Prompt: c.prompt("stream"), Model: "gpt-image-1", PartialImages: openai.Int(2)})
	defer events.Close()
	var seen []string
	for events.Next() {
		e := events.Current()
		if !isPNG(decode(e.B64JSON)) {
			return fmt.Errorf("%s has no picture", e.Type)
		}
		seen = append(seen, fmt.Sprintf("%s %d", e.Type, e.PartialImageIndex))
	}
	want := []string{"image_generation.partial_image 0", "image_generation.partial_image 1", "image_generation.completed 0"}
	if err := events.Err(); err != nil || !slices.Equal(seen, want) {
		return fmt.Errorf("the events are %q, %v", seen, err)
	}
	return nil
}

func (c client) edit(ctx context.Context) error {
	got, err := c.Images.Edit(ctx, openai.ImageEditParams{Prompt: c.prompt("edit"), Model: "gpt-image-1",
		Image: openai.ImageEditParamsImageUnion{OfFileArray: []io.Reader{file("image.png"), file("mask.png")}}, Mask: file("mask.png")})
	if err != nil {
		return err
	}
	if !isPNG(decode(got.Data[0].B64JSON)) {
		return fmt.Errorf("the answer is %.300s", got.RawJSON())
	}
	return nil
}

// errors are one of each class that a program tells apart.
func (c client) errors(ctx context.Context) error {
	ask := func(p openai.ImageGenerateParams, opts ...option.RequestOption) error {
		_, err := c.Images.Generate(ctx, p, opts...)
		return err
	}
	first := openai.ImageGenerateParams{Prompt: c.prompt("conflict"), Model: "gpt-image-1"}
	key := option.WithHeader("Idempotency-Key", c.name+"-key")
	if err := ask(first, key); err != nil {
		return err
	}
	for _, e := range []struct {
		err    error
		status int
		code   string
	}{
		{ask(first, option.WithAPIKey("afi_wrong")), 401, "invalid_api_key"},
		{ask(first, option.WithAPIKey(os.Getenv("READER_API_KEY"))), 403, "scope_missing"},
		{ask(openai.ImageGenerateParams{Prompt: c.prompt("size"), Model: "gpt-image-1", Size: openai.ImageGenerateParamsSize256x256}), 400, "invalid_value"},
		{ask(openai.ImageGenerateParams{Prompt: c.prompt("model"), Model: "dall-e-9"}), 404, "model_not_found"},
		{ask(openai.ImageGenerateParams{Prompt: c.prompt("other"), Model: "gpt-image-1"}, key), 409, "idempotency_key_reused"},
		{ask(openai.ImageGenerateParams{Prompt: c.prompt("refuse"), Model: "gpt-image-1"}), 400, "moderation_blocked"},
		{ask(openai.ImageGenerateParams{Prompt: c.prompt("quota"), Model: "gpt-image-1"}), 429, "insufficient_quota"},
		{ask(openai.ImageGenerateParams{Prompt: c.prompt("cut"), Model: "gpt-image-1"}), 502, "unknown_outcome"},
	} {
		var api *openai.Error
		if !errors.As(e.err, &api) || api.StatusCode != e.status || api.Code != e.code || api.Message == "" ||
			api.Type == "" || api.Response.Header.Get("X-Request-Id") == "" {
			return fmt.Errorf("want %d %s, got %v", e.status, e.code, e.err)
		}
	}
	return nil
}

func (c client) timeouts(ctx context.Context) error {
	// A time-out of the library's own is not repeated by it, one of the HTTP client is.
	got, err := c.Images.Generate(ctx, openai.ImageGenerateParams{Prompt: c.prompt("slow"), Model: "gpt-image-1"},
		option.WithHTTPClient(&http.Client{Timeout: 700 * time.Millisecond}), option.WithMaxRetries(9))
	if err != nil {
		return err
	}
	if !isPNG(decode(got.Data[0].B64JSON)) {
		return fmt.Errorf("the answer is %.300s", got.RawJSON())
	}
	return nil
}

// file is an upload from the folder that the test made.
func file(name string) io.Reader {
	content, err := os.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return openai.File(bytes.NewReader(content), name, "image/png")
}

func decode(b64 string) []byte {
	content, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		panic(err)
	}
	return content
}

func isPNG(content []byte) bool { return bytes.HasPrefix(content, []byte("\x89PNG")) }
