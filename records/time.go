package records

import (
	"database/sql/driver"
	"fmt"
	"time"
)

// timeLayout has a fixed width, so that SQLite, which keeps it as text, sorts
// it as time.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Time is a moment in UTC to the microsecond. The zero Time is NULL in the
// database and null in JSON.
//
// A plain time.Time is not safe here: PostgreSQL and SQLite differ in how they
// keep an offset, sort and return one.
type Time struct{ time.Time }

// Never is the deadline of what has none: it sorts after every other one.
var Never = At(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))

// At is t as the database keeps it.
func At(t time.Time) Time {
	if t.IsZero() {
		return Time{}
	}
	return Time{t.UTC().Truncate(time.Microsecond)}
}

// Add is t moved by d.
func (t Time) Add(d time.Duration) Time { return At(t.Time.Add(d)) }

// Value implements driver.Valuer.
func (t Time) Value() (driver.Value, error) {
	if t.IsZero() {
		return nil, nil
	}
	return t.UTC().Format(timeLayout), nil
}

// Scan implements sql.Scanner for what both databases return.
func (t *Time) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*t = Time{}
	case time.Time:
		*t = At(v)
	case string:
		return t.parse(v)
	case []byte:
		return t.parse(string(v))
	case int64:
		*t = At(time.Unix(v, 0))
	default:
		return fmt.Errorf("scan a time from %T", src)
	}
	return nil
}

// parse also reads what people write by hand: a row that could not be read
// would stop every claim that comes upon it.
func (t *Time) parse(s string) error {
	switch s {
	case "infinity":
		*t = Never
		return nil
	case "-infinity":
		*t = At(time.Unix(0, 0))
		return nil
	}
	parsed, err := time.Parse(time.RFC3339Nano, s)
	for _, layout := range []string{time.DateTime, time.DateOnly} {
		if err != nil {
			parsed, err = time.Parse(layout, s)
		}
	}
	if err != nil {
		return fmt.Errorf("scan a time: %w", err)
	}
	*t = At(parsed)
	return nil
}

// MarshalJSON writes RFC 3339, or null for the zero Time.
func (t Time) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return []byte(`"` + t.UTC().Format(timeLayout) + `"`), nil
}
