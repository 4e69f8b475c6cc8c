package records

import (
	"fmt"
	"strings"
)

// What there is of thumbnails.
const (
	ThumbNotYet = ""
	ThumbJPEG   = "jpg"
	ThumbPNG    = "png"
	ThumbNone   = "none" // the image cannot be drawn; it is kept all the same
)

// NextJob is a job that a settlement makes necessary. If there is one for the
// same thing already, it stays as it is.
type NextJob struct {
	Kind, Ref, UserID string
	Lane              int
}

func (s *Settlement) nextJobs() []newJob {
	jobs := make([]newJob, len(s.Next))
	for n, j := range s.Next {
		jobs[n] = newJob{kind: j.Kind, ref: j.Ref, userID: j.UserID, lane: j.Lane}
	}
	return jobs
}

// splitThumbs parts the changes that write nothing but a thumbnail from the
// others.
func splitThumbs(changes []ImageChange) (thumbs, rest []ImageChange) {
	for _, c := range changes {
		if c.ThumbOnly {
			thumbs = append(thumbs, c)
		} else {
			rest = append(rest, c)
		}
	}
	return thumbs, rest
}

// writeThumbs writes what there is of several images' thumbnails, in one
// statement.
func (t *tx) writeThumbs(changes []ImageChange) error {
	var args []any
	for _, c := range changes {
		c.Image.UpdatedAt = t.now
		args = append(args, c.Image.ID, c.Image.UserID, c.Image.Thumb, c.Image.Placeholder, c.Image.Seq, c.Image.UpdatedAt)
	}
	// The empty SELECT gives the parameters their types.
	_, err := t.exec(`UPDATE images SET thumb = c.thumb, placeholder = c.placeholder, seq = c.seq, updated_at = c.updated_at
		FROM (SELECT id, user_id, thumb, placeholder, seq, updated_at FROM images WHERE FALSE`+
		strings.Repeat(` UNION ALL SELECT ?, ?, ?, ?, ?, ?`, len(changes))+`) AS c
		WHERE images.id = c.id AND images.user_id = c.user_id`, args...)
	if err != nil {
		return fmt.Errorf("write thumbnails: %w", err)
	}
	return nil
}

// givenUpThumb does without the thumbnail of an image that ended the process
// of whoever drew it, again and again.
func (t *tx) givenUpThumb(id string) ([]ImageChange, error) {
	var images []Image
	err := t.all(&images, `SELECT `+imageColumns+` FROM images WHERE id = ? AND thumb = ''`, id)
	changes := make([]ImageChange, len(images))
	for n := range images {
		images[n].Thumb = ThumbNone
		changes[n] = ImageChange{Image: &images[n], ThumbOnly: true}
	}
	return changes, err
}
