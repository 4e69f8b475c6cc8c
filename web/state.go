package web

import (
	"cmp"
	"fmt"
	"html/template"
	"strings"
	"time"
)

// Trashed reports whether the image is in the trash; it has a state all the same.
func (t Tile) Trashed() bool { return !t.TrashedAt.IsZero() }

// State is the key the image is shown under: its status, or "trashed".
func (t Tile) State() string {
	if t.Trashed() {
		return "trashed"
	}
	return t.Status
}

// Href is the address of the image's page.
func (t Tile) Href() string { return "/i/" + t.ID }

// ImageURL is the permanent address of the picture.
func (t Tile) ImageURL() string { return "/img/" + t.ID }

// Thumb is a thumbnail: what to ask for, and how wide it is in pixels.
type Thumb struct{ Size, Width int }

// ThumbURL is the address of the small picture. It changes when there is a
// thumbnail, so that a page shows it in place of what stood for it.
func (t Tile) ThumbURL() string {
	if len(t.Thumbs) == 0 {
		return "/thumb/" + t.ID
	}
	return fmt.Sprintf("/thumb/%s?w=%d", t.ID, t.Thumbs[min(1, len(t.Thumbs)-1)].Size)
}

// Srcset offers a browser the small pictures to choose from, if there are any.
func (t Tile) Srcset() string {
	var list []string
	for _, s := range t.Thumbs {
		list = append(list, fmt.Sprintf("/thumb/%s?w=%d %dw", t.ID, s.Size, s.Width))
	}
	return strings.Join(list, ", ")
}

// Shown reports whether there is a picture to show: it is kept, or its bytes are safe here.
func (t Tile) Shown() bool { return t.Status == "archived" || t.Secured }

// Pending reports whether something will still happen by itself.
func (t Tile) Pending() bool {
	switch t.Status {
	case "queued", "generating", "generated", "archiving", "retry_wait":
		return true
	}
	return false
}

// Failed reports whether it ended without a kept image, through a fault.
func (t Tile) Failed() bool {
	return t.Status == "archive_failed" || t.Status == "generate_failed" || t.Status == "unknown"
}

// CanRepeat reports whether to offer the whole generation again.
func (t Tile) CanRepeat() bool {
	return t.Status == "generate_failed" || t.Status == "unknown" || t.Status == "canceled"
}

// CanCancel reports whether it can still be called off.
func (t Tile) CanCancel() bool { return t.Status == "queued" || t.Status == "generating" }

// waitsForStore reports that the store is paused: no attempt is under way, and
// none is counted.
func (t Tile) waitsForStore() bool {
	return t.Status == "archiving" && strings.HasPrefix(t.Reason.Code, "store_")
}

// Icon is the name of the state's picture in icons.svg.
func (t Tile) Icon() string {
	switch t.State() {
	case "archive_failed", "generate_failed":
		return "s-failed"
	case "trashed":
		return "i-trash"
	}
	return "s-" + strings.ReplaceAll(t.Status, "_", "-")
}

// LateRetry reports whether the next attempt falls after the end of the source.
func (t Tile) LateRetry() bool {
	return !t.SourceExpires.IsZero() && t.NextAttemptAt.After(t.SourceExpires)
}

// Expiry is the urgency of a source that has an end, while that matters: "" none or not urgent for a
// tile, "calm", "soon" under 15 minutes, "now" under 5, "over".
func (t Tile) Expiry(now time.Time) string {
	if t.SourceExpires.IsZero() || t.Secured {
		return ""
	}
	switch t.Status {
	case "generated", "archiving", "retry_wait", "archive_failed":
	default:
		return ""
	}
	switch left := t.SourceExpires.Sub(now); {
	case left <= 0:
		return "over"
	case left < 5*time.Minute:
		return "now"
	case left < 15*time.Minute:
		return "soon"
	}
	return "calm"
}

// badge is the state in a few words, with figures that the page keeps counting.
func (c Catalogue) badge(t Tile, now time.Time) template.HTML {
	switch t.State() {
	case "generating":
		if !t.StartedAt.IsZero() {
			return c.HTML("badge.generating", Args{"time": c.counting("up", t.StartedAt, now)})
		}
	case "archiving":
		if t.waitsForStore() {
			return c.HTML("badge.archiving.paused", nil)
		}
		if t.Attempt > 0 {
			return c.HTML("badge.archiving", Args{"n": t.Attempt, "max": t.MaxAttempts})
		}
	case "retry_wait":
		if t.NextAttemptAt.After(now) {
			return c.HTML("badge.retry_wait", Args{"time": c.counting("down", t.NextAttemptAt, now)})
		}
		return c.HTML("badge.retry_wait.now", nil)
	case "trashed":
		return c.HTML("badge.trashed", Args{"time": c.Roughly(now.Sub(t.TrashedAt))})
	}
	return c.HTML("status."+t.State(), nil)
}

// badgeShort is badge for a narrow tile. 图片归档失败 is never shortened.
func (c Catalogue) badgeShort(t Tile, now time.Time) template.HTML {
	switch {
	case t.State() == "archiving" && t.Attempt > 0 && !t.waitsForStore():
		return c.HTML("badge.archiving.short", Args{"n": t.Attempt, "max": t.MaxAttempts})
	case t.State() == "trashed":
		return c.HTML("badge.trashed.short", Args{"time": c.Roughly(now.Sub(t.TrashedAt))})
	case t.State() == "generated":
		return c.HTML("badge.generated.short", nil)
	case t.State() == "generating":
		return c.HTML("status.generating", nil)
	}
	return c.badge(t, now)
}

// badgeRead is badge for a screen reader: a clock instead of digits that change.
func (c Catalogue) badgeRead(t Tile) template.HTML {
	switch {
	case t.State() == "retry_wait" && !t.NextAttemptAt.IsZero():
		return c.HTML("badge.retry_wait.read", Args{"clock": c.clock(nil, t.NextAttemptAt, "clock")})
	case t.State() == "archiving" && t.Attempt > 0 && !t.waitsForStore():
		return c.HTML("badge.archiving", Args{"n": t.Attempt, "max": t.MaxAttempts})
	}
	return c.HTML("status."+t.State(), nil)
}

// sentence is the state in full, for the page of the image.
func (c Catalogue) sentence(v ImageView, now time.Time) template.HTML {
	why := v.Reason
	why.Code = cmp.Or(why.Code, "unknown")
	args := Args{
		"n": v.Attempt, "provider": c.Provider(v.Provider), "reason": c.Reason(why),
		"bytes": c.Bytes(v.Bytes), "clock": c.clock(v.Zone, v.NextAttemptAt, "clock"),
	}
	key := "state." + v.State()
	switch v.State() {
	case "queued":
		if v.Ahead > 0 {
			key, args["n"] = key+".ahead", v.Ahead
		}
	case "archiving":
		if v.Secured && v.Reason.Code != "" {
			key += ".paused"
		}
	case "retry_wait":
		if v.LateRetry() {
			key += ".soon"
		}
	case "archived":
		args["sha"] = template.HTML(`<code>` + template.HTMLEscapeString(shortHash(v.SHA256)) + `</code>`)
	case "archive_failed":
		if v.Attempt == 0 {
			key += ".none"
		}
	case "trashed":
		args["date"] = c.date(v.Zone, v.TrashedAt)
	}
	return c.HTML(key, args)
}

// expiry is how long the original can still be had.
func (c Catalogue) expiry(t Tile, now time.Time) template.HTML {
	if t.Expiry(now) == "over" {
		return c.HTML("expiry.over", nil)
	}
	return c.HTML("expiry.left", Args{"time": c.counting("left", t.SourceExpires, now)})
}

// expiryShort is expiry for a narrow tile.
func (c Catalogue) expiryShort(t Tile, now time.Time) template.HTML {
	if t.Expiry(now) == "over" {
		return c.HTML("expiry.over", nil)
	}
	return c.HTML("expiry.short", Args{"time": c.counting("left", t.SourceExpires, now)})
}

// counting is a length of time that a script keeps true: "up" from a moment, "down" to it by the
// second, "left" to it by the minute.
func (c Catalogue) counting(way string, at, now time.Time) template.HTML {
	text := c.Countdown(at.Sub(now))
	switch {
	case way == "up":
		text = c.Countdown(now.Sub(at))
	case way == "left" && at.Sub(now) > 5*time.Minute:
		text = c.Roughly(at.Sub(now))
	}
	return template.HTML(fmt.Sprintf(`<time data-count=%q datetime=%q>%s</time>`,
		way, stamp(at), template.HTMLEscapeString(text)))
}

// clock is a time of day; form is "clock" (15:42) or "second" (15:42:07). A script tells it again in
// the browser's zone.
func (c Catalogue) clock(zone *time.Location, at time.Time, form string) template.HTML {
	layout := "15:04"
	if form == "second" {
		layout = "15:04:05"
	}
	return template.HTML(fmt.Sprintf(`<time data-form=%q datetime=%q>%s</time>`,
		form, stamp(at), in(zone, at).Format(layout)))
}

// date is a day of the year, told again by a script as clock is.
func (c Catalogue) date(zone *time.Location, at time.Time) template.HTML {
	return template.HTML(fmt.Sprintf(`<time data-form="date" datetime=%q>%s</time>`,
		stamp(at), template.HTMLEscapeString(c.Date(in(zone, at)))))
}

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func in(zone *time.Location, at time.Time) time.Time {
	if zone == nil {
		zone = time.UTC
	}
	return at.In(zone)
}

// shortHash is enough of a hash to compare by eye: "ab12…9f".
func shortHash(hash string) string {
	if len(hash) < 12 {
		return hash
	}
	return hash[:6] + "…" + hash[len(hash)-4:]
}
