package http_test

import (
	"testing"

	"afterimage/records"
)

// Programs of operators see what waits and why, and try again all that failed
// for one reason: everybody's.
func TestOperatorsRetryAllOfAReason(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		ann := w.person("ann")
		_, images, err := w.CreateImport(t.Context(), ann, []records.ImportItem{{URL: "https://a.example/1.png"}, {URL: "https://a.example/2.png"}}, records.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range images {
			w.state(i.ID, records.ArchiveFailed, "source_error")
		}
		op := w.program(w.key(w.admin("root"), records.ScopeOpsRead, records.ScopeOpsWrite))
		var desk struct {
			Failures []records.Failure `json:"failures"`
			Forecast struct {
				Waiting int      `json:"waiting"`
				Clears  *float64 `json:"clears_in_seconds"`
			} `json:"forecast"`
			Store struct{ Where string } `json:"store"`
		}
		op.get("/api/v1/archive").wants(200).into(&desk)
		if len(desk.Failures) != 1 || desk.Failures[0].N != 2 || desk.Failures[0].Retryable != 2 || desk.Store.Where == "" {
			t.Errorf("the desk has %+v", desk)
		}
		op.call("POST", "/api/v1/archive/retry", `{"reason":"Not One"}`).wants(422)
		op.call("POST", "/api/v1/archive/retry", `{}`).wants(422)
		op.call("POST", "/api/v1/archive/retry", `{"reason":"source_slow"}`).wants(200).has(`"retried":0`)
		op.call("POST", "/api/v1/archive/retry", `{"reason":"source_error"}`).wants(200).has(`"retried":2`)
		for _, i := range images {
			if now, err := w.Image(t.Context(), ann, i.ID); err != nil || now.Status != records.Generated {
				t.Errorf("%s is %v (%v)", i.ID, now.Status, err)
			}
		}
	})
}
