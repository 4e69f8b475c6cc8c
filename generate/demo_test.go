package generate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"image/png"
	"io"
	"strings"
	"testing"
)

// draw makes the images of a request and gives their bytes and outputs.
func draw(t *testing.T, req Request) ([][]byte, []Output) {
	t.Helper()
	var files [][]byte
	var outputs []Output
	_, err := NewDemo().Generate(t.Context(), req, func(o Output) error {
		data, err := io.ReadAll(o.Body)
		files, outputs = append(files, data), append(outputs, o)
		return err
	})
	if err != nil {
		t.Fatalf("draw %+v: %v", req, err)
	}
	return files, outputs
}

func TestDemoIsDeterministic(t *testing.T) {
	for name := range scenes {
		t.Run(name, func(t *testing.T) {
			req := Request{Prompt: sceneWord(name), Width: 96, Height: 64, Seed: 7, HasSeed: true}
			first, _ := draw(t, req)
			again, _ := draw(t, req)
			if !bytes.Equal(first[0], again[0]) {
				t.Error("the same prompt and seed gave different bytes")
			}
			req.Seed = 8
			other, _ := draw(t, req)
			if bytes.Equal(first[0], other[0]) {
				t.Error("another seed gave the same picture")
			}
		})
	}
}

func TestDemoImageIsTheSameAloneOrAmongOthers(t *testing.T) {
	req := Request{Prompt: "dunes", Width: 64, Height: 64, Seed: 40, HasSeed: true, N: 4}
	files, outputs := draw(t, req)
	if len(files) != 4 {
		t.Fatalf("got %d images, want 4", len(files))
	}
	seen := map[[32]byte]bool{}
	for i, o := range outputs {
		if o.Index != i || o.Seed != 40+int64(i) {
			t.Errorf("image %d: index %d, seed %d", i, o.Index, o.Seed)
		}
		seen[sha256.Sum256(files[i])] = true
	}
	if len(seen) != 4 {
		t.Errorf("only %d of 4 images differ", len(seen))
	}
	alone, _ := draw(t, Request{Prompt: "dunes", Width: 64, Height: 64, Seed: 42, HasSeed: true})
	if !bytes.Equal(alone[0], files[2]) {
		t.Error("seed 42 alone differs from image 2 of seed 40")
	}
}

func TestDemoWithoutSeedSaysWhichItTook(t *testing.T) {
	files, outputs := draw(t, Request{Prompt: "koi", Width: 48, Height: 48})
	again, _ := draw(t, Request{Prompt: "koi", Width: 48, Height: 48, Seed: outputs[0].Seed, HasSeed: true})
	if !bytes.Equal(files[0], again[0]) {
		t.Errorf("seed %d does not give the picture again", outputs[0].Seed)
	}
}

func TestDemoDrawsAnySize(t *testing.T) {
	sizes := [][2]int{{16, 16}, {16, 700}, {700, 16}, {17, 31}, {333, 222}}
	for name := range scenes {
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				files, _ := draw(t, Request{Prompt: sceneWord(name), Width: size[0], Height: size[1], N: 2})
				for _, data := range files {
					checkSize(t, data, size[0], size[1])
				}
			})
		}
	}
	t.Run("16x4096", func(t *testing.T) {
		files, _ := draw(t, Request{Prompt: "a lighthouse", Width: 16, Height: 4096})
		checkSize(t, files[0], 16, 4096)
	})
	t.Run("4096x16", func(t *testing.T) {
		files, _ := draw(t, Request{Prompt: "ink currents", Width: 4096, Height: 16})
		checkSize(t, files[0], 4096, 16)
	})
	t.Run("1024x1024 unless asked otherwise", func(t *testing.T) {
		files, _ := draw(t, Request{Prompt: "moon"})
		checkSize(t, files[0], 1024, 1024)
	})
}

// checkSize decodes the whole file with the standard library.
func checkSize(t *testing.T, data []byte, w, h int) {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	if got := img.Bounds().Size(); got.X != w || got.Y != h {
		t.Errorf("got %v, want %dx%d", got, w, h)
	}
}

func TestDemoRefusesWhatItCannotDraw(t *testing.T) {
	for _, test := range []struct {
		name   string
		req    Request
		reason string
	}{
		{"a side too short", Request{Width: 15, Height: 64}, ReasonInvalidRequest},
		{"a side too long", Request{Width: 64, Height: 4097}, ReasonInvalidRequest},
		{"a negative side", Request{Width: -1, Height: 5}, ReasonInvalidRequest},
		{"too many images", Request{N: 11}, ReasonInvalidRequest},
		{"fewer than none", Request{N: -1}, ReasonInvalidRequest},
		{"too long a prompt", Request{Prompt: strings.Repeat("月", 4001)}, ReasonInvalidRequest},
		{"another model", Request{Model: "gpt-image-1"}, ReasonModelMissing},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := NewDemo().Generate(t.Context(), test.req, func(Output) error {
				t.Error("something was drawn")
				return nil
			})
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Reason != test.reason || e.Message == "" || e.Retryable {
				t.Errorf("got %#v, want %s with a message", err, test.reason)
			}
		})
	}
}

func TestDemoStopsWhenTheContextEnds(t *testing.T) {
	cause := errors.New("shutdown")
	for name := range scenes {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(cause)
			_, err := NewDemo().Generate(ctx, Request{Prompt: sceneWord(name), Width: 64, Height: 64}, func(Output) error {
				t.Error("a picture was handed over")
				return nil
			})
			if !errors.Is(err, cause) {
				t.Errorf("got %v, want the cause", err)
			}
		})
	}
	t.Run("in the middle of a picture", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := newSketch(ctx, "", 1, 32, 1000)
		painted := 0
		err := s.rows(func(y int, row []rgb) {
			painted++
			if y == 9 {
				cancel(cause)
			}
		})
		if !errors.Is(err, cause) || painted != 10 {
			t.Errorf("stopped after %d rows with %v", painted, err)
		}
	})
}

func TestDemoReturnsTheErrorOfEmit(t *testing.T) {
	full := errors.New("disk full")
	calls := 0
	_, err := NewDemo().Generate(t.Context(), Request{Prompt: "pines", Width: 32, Height: 32, N: 3}, func(Output) error {
		calls++
		return full
	})
	if err != full || calls != 1 {
		t.Errorf("got %v after %d calls, want the error after one", err, calls)
	}
}

// sceneWord is a prompt that gives the scene.
func sceneWord(scene string) string {
	for _, m := range sceneWords {
		if m.value == scene {
			return strings.Fields(m.words)[0]
		}
	}
	return scene
}
