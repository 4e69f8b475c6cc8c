package http

// problemCode is a code with what it means to a program.
type problemCode struct{ code, status, about string }

// problemCodes are all codes, as the description and the docs page list them.
var problemCodes = []problemCode{
	{codeBadRequest, "400", "the request cannot be read"},
	{codeNotJSON, "400", "the body is not one JSON object"},
	{codeUnknownField, "400", "the body has a field that there is not; see field"},
	{codeInvalid, "422", "a value is not possible; see field"},
	{codeTooLarge, "413", "the body is larger than 1 MB, or an upload than its limit"},
	{codeUnauthorized, "401", "no key or session, or one that does not work any more"},
	{codeScope, "403", "the key's scopes do not allow this"},
	{codeForbidden, "403", "not from here"},
	{codeCrossOrigin, "403", "a browser sent this from another site"},
	{codeNotFound, "404", "there is no such thing, or it is somebody else's"},
	{codeMethod, "405", "the address does not take this method; see Allow"},
	{codeKeyReused, "409", "the Idempotency-Key was used for another request"},
	{codeNotPossible, "409", "the state does not allow this"},
	{codeTaken, "409", "the username is taken"},
	{codeLastAdmin, "409", "there has to be an administrator"},
	{codeLimit, "409", "there are as many as there may be"},
	{codeCursor, "400", "the cursor is broken or somebody else's: start again without one"},
	{codeCursorOld, "410", "deletions since the cursor are forgotten: start again without one"},
	{codeLost, "410", "the image was lost; its record says why"},
	{codeThrottled, "429", "too many requests; see Retry-After"},
	{codeQuota, "429", "the quota is used up; Retry-After says when there is room again"},
	{codeNotReady, "202", "the image has no bytes yet; see Retry-After"},
	{codeBusy, "503", "too much at once; see Retry-After"},
	{codeElsewhere, "503", "the bytes are on another machine that does not answer"},
	{codeStore, "503", "storage does not answer"},
	{codeInternal, "500", "our fault; the log has the request id"},
}
