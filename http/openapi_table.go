package http

import (
	"net/http"

	"afterimage/records"
)

// operation is a route as the API's description tells it. A test compares the
// table with the routes, and answers with its types.
type operation struct {
	method, path string
	scope        string // a scope, "person" or ""
	summary      string
	query        []parameter
	once         bool // takes an Idempotency-Key
	body         any  // nil: none
	status       int
	answer       any    // nil: none
	media        string // of the answer, where it is not JSON
}

type parameter struct{ name, kind, about string }

var (
	pageParams   = []parameter{{"limit", "integer", "1 to 200; default 50"}, {"cursor", "string", "next_cursor of the page before"}}
	filterParams = []parameter{
		{"status", "string", "statuses, separated by commas"}, {"q", "string", "words or parts of words of the prompt, all of them"},
		{"provider", "string", ""}, {"from", "date-time", "created at or after"}, {"to", "date-time", "created before"},
		{"favorite", "boolean", "only favorites"}, {"trashed", "boolean", "only the trash; without it nothing of it"}}
	waitParam  = parameter{"wait", "string", "a duration up to 30s, such as 25s: answer when something changes"}
	sinceParam = parameter{"since", "string", "a cursor; without it the present state"}
)

func params(lists ...[]parameter) (all []parameter) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// operations are all routes of /api/v1.
func operations() []operation {
	read, write, opsRead, opsWrite := records.ScopeImagesRead, records.ScopeImagesWrite, records.ScopeOpsRead, records.ScopeOpsWrite
	cursor := parameter{"cursor", "string", "of the list, or next_cursor of the answer before"}
	return []operation{
		{"POST", "/generations", write, "Ask for images", nil, true, generationRequest{}, 202, generationJSON{}, ""},
		{"GET", "/generations/{id}", read, "One request and its images", nil, false, nil, 200, generationJSON{}, ""},
		{"POST", "/generations/{id}/cancel", write, "Call off what has not been made yet", nil, false, nil, 200, generationJSON{}, ""},
		{"GET", "/images", read, "Images, newest first", params(filterParams, pageParams), false, nil, 200, page[imageJSON]{}, ""},
		{"GET", "/images/counts", read, "How many images there are, by status", filterParams, false, nil, 200, countsAnswer{}, ""},
		{"GET", "/images/download", read, "A zip of images with what is known of them",
			params([]parameter{{"ids", "string", "up to 1,000 ids, separated by commas; or a filter"}}, filterParams), false, nil, 200, nil, "application/zip"},
		{"POST", "/images/import", write, "Archive images from their addresses", nil, true, importRequest{}, 202, importAnswer{}, ""},
		{"POST", "/images/bulk", write, "Do one thing to up to 1,000 images: by ids in the body, or by a filter in the query",
			params(filterParams, []parameter{cursor}), false, bulkRequest{}, 200, bulkAnswer{}, ""},
		{"GET", "/images/{id}", read, "One image; with wait and If-None-Match once it differs", []parameter{waitParam}, false, nil, 200, imageJSON{}, ""},
		{"PATCH", "/images/{id}", write, "Mark an image as favorite or trashed", nil, false, marksRequest{}, 200, imageJSON{}, ""},
		{"DELETE", "/images/{id}", write, "Delete an image for ever", nil, false, nil, 204, nil, ""},
		{"POST", "/images/{id}/retry", write, "Archive an image again that failed", nil, false, nil, 202, imageJSON{}, ""},
		{"POST", "/images/{id}/verify", write, "Read the stored image back and compare it", nil, false, nil, 200, imageJSON{}, ""},
		{"GET", "/images/{id}/events", read, "What happened to an image", nil, false, nil, 200, list[eventJSON]{}, ""},
		{"GET", "/history", read, "What changed since a cursor: each changed image as it is now. Deletions are kept for 90 days, an older cursor is 410",
			[]parameter{sinceParam, waitParam, {"limit", "integer", "1 to 200; default 50"}}, false, nil, 200, historyAnswer{}, ""},
		{"GET", "/events", read, "Changes as server-sent events: image and deleted, each with a cursor as its id, from which Last-Event-ID goes on",
			[]parameter{sinceParam}, false, nil, 200, nil, "text/event-stream"},
		{"GET", "/imports/{id}", read, "How an import stands", nil, false, nil, 200, records.ImportSummary{}, ""},
		{"GET", "/me", read, "Who asks, and what they have used", nil, false, nil, 200, meJSON{}, ""},
		{"POST", "/me/password", "person", "Change the password", nil, false, passwordRequest{}, 204, nil, ""},
		{"GET", "/sessions", "person", "Where one is signed in", nil, false, nil, 200, list[sessionJSON]{}, ""},
		{"DELETE", "/sessions/{id}", "person", "Sign out somewhere", nil, false, nil, 204, nil, ""},
		{"GET", "/keys", "person", "API keys", nil, false, nil, 200, list[keyJSON]{}, ""},
		{"POST", "/keys", "person", "Make an API key; its secret is shown this once", nil, true, keyRequest{}, 201, keyJSON{}, ""},
		{"DELETE", "/keys/{id}", "person", "Revoke an API key", nil, false, nil, 204, nil, ""},
		{"GET", "/webhooks", read, "Webhooks", nil, false, nil, 200, list[webhookJSON]{}, ""},
		{"POST", "/webhooks", write, "Make a webhook; its secret is shown this once", nil, false, webhookRequest{}, 201, webhookJSON{}, ""},
		{"GET", "/webhooks/{id}", read, "One webhook", nil, false, nil, 200, webhookJSON{}, ""},
		{"GET", "/webhooks/{id}/deliveries", read, "What a webhook was told", pageParams, false, nil, 200, page[deliveryJSON]{}, ""},
		{"POST", "/webhooks/{id}/rotate", write, "A new secret; the old one signs for another day", nil, false, nil, 200, webhookJSON{}, ""},
		{"POST", "/webhooks/{id}/test", write, "Tell a webhook something", nil, false, nil, 202, testAnswer{}, ""},
		{"POST", "/webhooks/{id}/enable", write, "Tell a webhook again that was given up", nil, false, nil, 200, webhookJSON{}, ""},
		{"DELETE", "/webhooks/{id}", write, "Delete a webhook", nil, false, nil, 204, nil, ""},
		{"GET", "/digests", read, "Daily digests", []parameter{{"limit", "integer", "1 to 200; default 50"}}, false, nil, 200, list[digestJSON]{}, ""},
		{"GET", "/usage", read, "Images by day and provider, of 30 days", nil, false, nil, 200, list[records.Usage]{}, ""},
		{"GET", "/users", opsRead, "People", nil, false, nil, 200, list[userJSON]{}, ""},
		{"POST", "/users", opsWrite, "Add a person; without a password the answer has a link to choose one", nil, true, userRequest{}, 201, newUserJSON{}, ""},
		{"GET", "/users/{id}", opsRead, "One person", nil, false, nil, 200, userJSON{}, ""},
		{"PATCH", "/users/{id}", opsWrite, "Change a role or quotas, disable or enable", nil, false, userPatch{}, 200, userJSON{}, ""},
		{"DELETE", "/users/{id}", opsWrite, "Delete a person; say what becomes of the images",
			[]parameter{{"images", "string", "delete, or hand_over"}, {"to", "string", "with hand_over: the id of who gets them"}}, false, nil, 204, nil, ""},
		{"POST", "/users/{id}/reset", opsWrite, "A link to choose a new password", nil, false, nil, 201, resetJSON{}, ""},
		{"GET", "/users/{id}/export", opsWrite, "A zip of all images of a person", nil, false, nil, 200, nil, "application/zip"},
		{"GET", "/archive", opsRead, "The queue and the store", nil, false, nil, 200, queueJSON{}, ""},
		{"POST", "/archive/retry", opsWrite, "Archive all images again that failed for a reason", nil, false, retryRequest{}, 200, retryAnswer{}, ""},
		{"GET", "/jobs", opsRead, "Jobs by kind and reason, and alarms", nil, false, nil, 200, jobKindsJSON{}, ""},
		{"GET", "/jobs/list", opsRead, "Jobs, oldest first",
			params([]parameter{{"kind", "string", ""}, {"state", "string", ""}, {"reason", "string", "as /jobs has it"}}, pageParams), false, nil, 200, page[jobJSON]{}, ""},
		{"POST", "/jobs/revive", opsWrite, "Give jobs that were given up all their attempts again", nil, false, reviveRequest{}, 200, reviveAnswer{}, ""},
		{"POST", "/jobs/kinds/{kind}/pause", opsWrite, "Pause a kind of job", nil, false, nil, http.StatusNoContent, nil, ""},
		{"POST", "/jobs/kinds/{kind}/resume", opsWrite, "Resume a kind of job", nil, false, nil, http.StatusNoContent, nil, ""},
	}
}
