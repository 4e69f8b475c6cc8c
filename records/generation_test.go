package records_test

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"afterimage/records"
)

func TestCreateGenerationWritesOneRowAnImageAndTheJob(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		var woken, changed []string
		w.OnJobs(func(kind string) { woken = append(woken, kind) })
		w.OnChange(func(user string) { changed = append(changed, user) })
		params := records.Params{"seed": 7.0, "style": "ink", "nested": map[string]any{"a": []any{1.0, "б"}}}
		g, images, err := w.CreateGeneration(t.Context(), records.NewGeneration{UserID: ada, Provider: "demo", Model: "m",
			Prompt: "灯塔 ' \" \\ %", NegativePrompt: "rain", Params: params, N: 3, Width: 640, Height: 480})
		if err != nil {
			t.Fatal(err)
		}
		if g.Status != records.GenerationQueued || g.N != 3 || g.Prompt != "灯塔 ' \" \\ %" || !reflect.DeepEqual(g.Params, params) || !g.SubmittedAt.IsZero() {
			t.Errorf("the generation is %+v", g)
		}
		if len(images) != 3 {
			t.Fatalf("%d images", len(images))
		}
		for n, i := range images {
			if i.Status != records.Queued || i.Position != n || *i.GenerationID != g.ID || i.Prompt != g.Prompt || i.Width != 640 ||
				!records.IsID(i.ID) || i.Seq != int64(n+1) || !reflect.DeepEqual(i.Params, params) {
				t.Errorf("image %d is %+v", n, i)
			}
			if got := w.events(ada, i.ID); !slices.Equal(got, []string{records.EventAccepted}) {
				t.Errorf("image %d has the events %v", n, got)
			}
		}
		if j := w.job(g.ID); j.Kind != records.KindGenerate || j.State != records.JobReady || j.UserID != ada {
			t.Errorf("the job is %+v", j)
		}
		if !slices.Equal(woken, []string{records.KindGenerate}) || !slices.Equal(changed, []string{ada}) {
			t.Errorf("told of the jobs %v and the changes of %v", woken, changed)
		}
	})
}

func TestIdempotencyKey(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada, bob := t.Context(), w.person("ada"), w.person("bob")
		ask := func(user, key, hash string) (string, error) {
			g, images, err := w.CreateGeneration(ctx, records.NewGeneration{UserID: user, Provider: "demo", Model: "m", Prompt: "p", N: 2,
				Idempotency: records.Idempotency{Key: key, RequestHash: hash}})
			if err != nil {
				return "", err
			}
			if len(images) != 2 {
				t.Errorf("%d images", len(images))
			}
			return g.ID, nil
		}
		first, err := ask(ada, "k", "h")
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ask(ada, "k", "h"); err != nil || again != first {
			t.Errorf("a repeat made %s, %v", again, err)
		}
		if _, err := ask(ada, "k", "other"); !errors.Is(err, records.ErrKeyReused) {
			t.Errorf("another request with the key: %v", err)
		}
		if other, err := ask(bob, "k", "other"); err != nil || other == first {
			t.Errorf("bob's own key: %s, %v", other, err)
		}
		if other, err := ask(ada, "", "h"); err != nil || other == first {
			t.Errorf("without a key: %s, %v", other, err)
		}
		t.Run("used for a generation and then for an import", func(t *testing.T) {
			_, _, err := w.CreateImport(ctx, ada, []records.ImportItem{{URL: "https://a.example/"}}, records.Idempotency{Key: "k", RequestHash: "import"})
			if !errors.Is(err, records.ErrKeyReused) {
				t.Errorf("got %v", err)
			}
		})
		t.Run("forgotten after a day", func(t *testing.T) {
			w.Exec(t, `UPDATE idempotency_keys SET created_at = ? WHERE user_id = ?`, w.Now().Add(-25*time.Hour), ada)
			if other, err := ask(ada, "k", "other"); err != nil || other == first {
				t.Errorf("got %s, %v", other, err)
			}
		})
		t.Run("by eight at once makes one", func(t *testing.T) {
			before := w.count(`SELECT count(*) FROM generations`)
			var wait sync.WaitGroup
			ids := make([]string, 8)
			for n := range ids {
				wait.Go(func() {
					var err error
					if ids[n], err = ask(ada, "together", "h"); err != nil {
						t.Error(err)
					}
				})
			}
			wait.Wait()
			if slices.Sort(ids); len(slices.Compact(ids)) != 1 {
				t.Errorf("they got %v", ids)
			}
			if n := w.count(`SELECT count(*) FROM generations`); n != before+1 {
				t.Errorf("%d generations were made", n-before)
			}
		})
		t.Run("a repeated import returns the same images", func(t *testing.T) {
			items := []records.ImportItem{{URL: "https://a.example/1"}, {URL: "https://a.example/2"}}
			key := records.Idempotency{Key: "import", RequestHash: "h"}
			id, images, err := w.CreateImport(ctx, ada, items, key)
			if err != nil {
				t.Fatal(err)
			}
			again, same, err := w.CreateImport(ctx, ada, items, key)
			if err != nil || again != id || len(same) != 2 || same[0].ID != images[0].ID || same[1].ID != images[1].ID {
				t.Errorf("got %s, %v, %v", again, same, err)
			}
		})
	})
}

func TestCreateImport(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		expires := w.Now().Add(time.Hour)
		images := w.importItems(ada,
			records.ImportItem{URL: "https://a.example/1?sig=x", ExpiresAt: expires, Prompt: "p", Provider: "openai", Model: "m", Params: records.Params{"a": "b"}},
			records.ImportItem{URL: "ftp://a.example/", Reason: "source_blocked", Detail: "only http and https"})
		good, bad := images[0], images[1]
		if good.Status != records.Generated || good.SourceURL != "https://a.example/1?sig=x" || good.SourceExpiresAt != expires || good.Params["a"] != "b" {
			t.Errorf("the good one is %+v", good)
		}
		if j := w.job(good.ID); j.Kind != records.KindArchive || j.Lane != records.LaneBulk || j.Deadline != expires || j.State != records.JobReady {
			t.Errorf("its job is %+v", j)
		}
		if bad.Status != records.ArchiveFailed || bad.Reason != "source_blocked" || bad.SourceURL != "" {
			t.Errorf("the bad one is %+v", bad)
		}
		if jobs, err := w.JobsOf(t.Context(), bad.ID); err != nil || len(jobs) != 0 {
			t.Errorf("its jobs are %v, %v", jobs, err)
		}
		if got := w.events(ada, bad.ID); !slices.Equal(got, []string{records.EventImported, records.EventArchiveFailed}) {
			t.Errorf("its events are %v", got)
		}
	})
}

func TestImportOfAThousand(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ada := w.person("ada")
		began := time.Now()
		images := w.imports(ada, 1000)
		t.Logf("took %v", time.Since(began))
		for n, i := range images {
			if i.Position != n || i.Seq != int64(n+1) {
				t.Fatalf("place %d has position %d, number %d", n, i.Position, i.Seq)
			}
		}
		if n := w.count(`SELECT count(*) FROM jobs WHERE state = 'ready'`); n != 1000 {
			t.Errorf("%d jobs", n)
		}
		if n := w.count(`SELECT count(*) FROM image_events`); n != 1000 {
			t.Errorf("%d events", n)
		}
	})
}

func TestImageMadeIsArchivedWhileTheOthersAreInTheMaking(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada := t.Context(), w.person("ada")
		w.instance("one")
		g, _ := w.asks(ada, 2)
		j := w.claimOne(records.KindGenerate)
		g, images, err := w.GenerationWork(ctx, g.ID)
		if err != nil || g.Status != records.GenerationGenerating || images[0].Status != records.Generating || images[1].Status != records.Generating {
			t.Fatalf("the claim made %v with %v, %v", g, images, err)
		}
		if err := w.BeginCall(ctx, j.Fence(), g.ID, nil); err != nil {
			t.Fatal(err)
		}
		made := images[0]
		made.Status, made.SourceURL, made.SourceExpiresAt, made.SpoolID = records.Generated, "https://a.example/", w.Now().Add(time.Minute), "spool of one"
		change := records.ImageChange{Image: &made, Event: &records.Event{Kind: records.EventGenerated}}
		if err := w.ImageMade(ctx, j.Fence(), change); err != nil {
			t.Fatal(err)
		}
		if archive := w.job(made.ID); archive.Lane != records.LaneInteractive || archive.SpoolID != "spool of one" || archive.Deadline != made.SourceExpiresAt {
			t.Errorf("the archive job is %+v", archive)
		}
		if i := w.image(ada, made.ID); i.Status != records.Generated || i.Seq <= images[1].Seq {
			t.Errorf("the image is %+v", i)
		}

		late := j.Fence()
		late.Owner = "somebody else"
		other := images[1]
		other.Status = records.Generated
		if err := w.ImageMade(ctx, late, records.ImageChange{Image: &other}); !errors.Is(err, records.ErrLeaseLost) {
			t.Errorf("with a lost claim: %v", err)
		}
		if err := w.BeginCall(ctx, late, g.ID, nil); !errors.Is(err, records.ErrLeaseLost) {
			t.Errorf("the call with a lost claim: %v", err)
		}
		if i := w.image(ada, other.ID); i.Status != records.Generating {
			t.Errorf("a lost claim made the image %s", i.Status)
		}
		if jobs, _ := w.JobsOf(ctx, other.ID); len(jobs) != 0 {
			t.Error("a lost claim enqueued the image")
		}
	})
}

func TestCancelGeneration(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ctx, ada := t.Context(), w.person("ada")
		w.instance("one")
		t.Run("before it began", func(t *testing.T) {
			g, images := w.asks(ada, 2)
			if err := w.CancelGeneration(ctx, ada, g.ID); err != nil {
				t.Fatal(err)
			}
			g, after, err := w.Generation(ctx, ada, g.ID)
			if err != nil || g.Status != records.GenerationCanceled || after[0].Status != records.Canceled || g.FinishedAt.IsZero() {
				t.Errorf("it is %v with %v, %v", g, after, err)
			}
			if jobs := w.claims(records.KindGenerate, 5); len(jobs) != 0 {
				t.Errorf("claimed %v", jobs)
			}
			if got := w.events(ada, images[0].ID); !slices.Equal(got, []string{records.EventAccepted, records.EventCanceled}) {
				t.Errorf("the events are %v", got)
			}
		})
		t.Run("in the middle: what was made stays, the worker loses its claim", func(t *testing.T) {
			g, images := w.asks(ada, 2)
			j := w.claimOne(records.KindGenerate)
			made := images[0]
			made.Status, made.SourceURL = records.Generated, "https://a.example/"
			if err := w.ImageMade(ctx, j.Fence(), records.ImageChange{Image: &made}); err != nil {
				t.Fatal(err)
			}
			if err := w.CancelGeneration(ctx, ada, g.ID); err != nil {
				t.Fatal(err)
			}
			g, after, err := w.Generation(ctx, ada, g.ID)
			if err != nil || g.Status != records.GenerationSucceeded || after[0].Status != records.Generated || after[1].Status != records.Canceled {
				t.Errorf("it is %v with %v, %v", g, after, err)
			}
			if err := w.settles(records.Settlement{Job: j, Generation: g}); !errors.Is(err, records.ErrLeaseLost) {
				t.Errorf("the worker's settlement: %v", err)
			}
		})
		t.Run("when it is over it does nothing", func(t *testing.T) {
			g, _ := w.asks(ada, 1)
			if err := w.CancelGeneration(ctx, ada, g.ID); err != nil {
				t.Fatal(err)
			}
			head, _ := w.HistoryHead(ctx, ada)
			if err := w.CancelGeneration(ctx, ada, g.ID); err != nil {
				t.Fatal(err)
			}
			if again, _ := w.HistoryHead(ctx, ada); again != head {
				t.Error("it changed something")
			}
		})
	})
}
