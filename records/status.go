package records

// Status is where an image stands between being asked for and being kept.
type Status string

// The states of an image. ARCHITECTURE.md draws how they follow one another.
const (
	Queued         Status = "queued"          // waits for its provider
	Generating     Status = "generating"      // its provider is at it
	Generated      Status = "generated"       // made, waits for a slot of the archive worker
	Archiving      Status = "archiving"       // being copied, or secured and waiting for a store that is paused
	RetryWait      Status = "retry_wait"      // an attempt failed, the next one is scheduled
	Archived       Status = "archived"        // kept
	ArchiveFailed  Status = "archive_failed"  // made, but not kept
	GenerateFailed Status = "generate_failed" // not made
	Canceled       Status = "canceled"        // called off before it was made
	Unknown        Status = "unknown"         // a paid call whose outcome nobody knows
)

// Statuses are all states, in the order of an image's life.
var Statuses = []Status{Queued, Generating, Generated, Archiving, RetryWait, Archived,
	ArchiveFailed, GenerateFailed, Canceled, Unknown}

// Final reports whether the image stays as it is unless somebody acts.
func (s Status) Final() bool {
	switch s {
	case Archived, ArchiveFailed, GenerateFailed, Canceled, Unknown:
		return true
	}
	return false
}

// GenerationStatus is where a request for images stands.
type GenerationStatus string

// The states of a generation.
const (
	GenerationQueued     GenerationStatus = "queued"
	GenerationGenerating GenerationStatus = "generating"
	GenerationSucceeded  GenerationStatus = "succeeded" // some image was made
	GenerationFailed     GenerationStatus = "failed"
	GenerationCanceled   GenerationStatus = "canceled"
	GenerationUnknown    GenerationStatus = "unknown"
)

// Reasons that this package gives by itself; the others come from where the
// fact is known.
const (
	ReasonInterrupted    = "interrupted"
	ReasonInternal       = "internal"
	ReasonUnknownOutcome = "unknown_outcome"
)
