package records_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"afterimage/records"
)

func TestTimeIsTheSameInBothDatabases(t *testing.T) {
	berlin := time.FixedZone("", 3600)
	moments := []time.Time{
		time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 1, 12, 0, 0, 1000, time.UTC),
		time.Date(2026, 3, 1, 12, 0, 0, 999_999_999, time.UTC), // to the microsecond
		time.Date(2026, 3, 1, 13, 30, 0, 0, berlin),            // 12:30 UTC
		time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC),
		time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
		records.Never.Time,
		{},
	}
	each(t, func(t *testing.T, w *world) {
		w.Exec(t, `CREATE TABLE moments (n BIGINT, at TIMESTAMPTZ)`)
		for n, m := range moments {
			w.Exec(t, `INSERT INTO moments VALUES (?, ?)`, n, records.At(m))
		}
		for n, m := range moments {
			var got records.Time
			w.Get(t, &got, `SELECT at FROM moments WHERE n = ?`, n)
			if want := records.At(m); !got.Equal(want.Time) || got != want {
				t.Errorf("%v came back as %v", m, got)
			}
		}
		var null int
		w.Get(t, &null, `SELECT count(*) FROM moments WHERE at IS NULL`)
		if null != 1 {
			t.Errorf("%d moments are NULL, want the zero one", null)
		}
		var latest records.Time
		w.Get(t, &latest, `SELECT max(at) FROM moments`)
		if latest != records.Never {
			t.Errorf("the latest is %v", latest)
		}
		sorted := slices.Clone(moments[:len(moments)-1])
		slices.SortFunc(sorted, time.Time.Compare)
		for n, m := range sorted {
			var got records.Time
			w.Get(t, &got, `SELECT at FROM moments WHERE at IS NOT NULL ORDER BY at LIMIT 1 OFFSET ?`, n)
			if got != records.At(m) {
				t.Errorf("place %d is %v, want %v", n, got, m)
			}
		}
	})
}

// A person mends a row with what their shell offers. The claim reads it too,
// and one row that cannot be read would stop the queue for everybody.
func TestTimeReadsWhatPeopleWriteByHand(t *testing.T) {
	for name, c := range map[string]struct {
		written any
		want    records.Time
	}{
		"datetime('now') of SQLite":       {"2026-03-01 12:00:00", records.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))},
		"with an offset":                  {"2026-03-01T13:00:00+01:00", records.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))},
		"a date":                          {"2026-03-01", records.At(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))},
		"infinity of PostgreSQL":          {[]byte("infinity"), records.Never},
		"minus infinity of PostgreSQL":    {[]byte("-infinity"), records.At(time.Unix(0, 0))},
		"seconds since 1970, strftime %s": {int64(1772366400), records.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))},
	} {
		t.Run(name, func(t *testing.T) {
			var got records.Time
			if err := got.Scan(c.written); err != nil || got != c.want {
				t.Errorf("read as %v, %v, want %v", got, err, c.want)
			}
		})
	}
	var got records.Time
	if err := got.Scan("tomorrow"); err == nil {
		t.Errorf("nonsense is read as %v", got)
	}
}

func TestTimeInJSON(t *testing.T) {
	b, err := json.Marshal([]records.Time{records.At(time.Date(2026, 3, 1, 13, 0, 0, 5000, time.FixedZone("", 3600))), {}})
	if want := `["2026-03-01T12:00:00.000005Z",null]`; err != nil || string(b) != want {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}
}
