package generate

import (
	"errors"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	openAI := func(models ...string) func(ServerConfig) (Checker, error) {
		return func(c ServerConfig) (Checker, error) { c.Models = models; return NewOpenAI(c) }
	}
	replicate := func(c ServerConfig) (Checker, error) { c.Models = []string{"acme/pics:v1"}; return NewReplicate(c) }
	dashScope := func(c ServerConfig) (Checker, error) { return NewDashScope(c) }
	a1111 := func(models ...string) func(ServerConfig) (Checker, error) {
		return func(c ServerConfig) (Checker, error) { c.Models = models; return NewA1111(c) }
	}
	const nobodys = "GET /api/v1/tasks/00000000-0000-0000-0000-000000000000"
	list := map[string][]reply{"GET /v1/models": {{200, "", `{"data":[{"id":"gpt-image-1"},{"id":"m2"}]}`}}}
	for _, row := range []struct {
		name    string
		make    func(ServerConfig) (Checker, error)
		answers map[string][]reply
		found   string // in what is found
		failure string // in the error
	}{
		{"openai has the models", openAI("gpt-image-1", "m2"), list, "2 models", ""},
		{"openai lacks one", openAI("gpt-image-1", "m3"), list, "1 models; the server's list lacks m3 (OPENAI_MODELS)", ""},
		{"openai lacks all", openAI("m3"), list, "", "lists none of m3 (check OPENAI_MODELS)"},
		{"openai refuses the key", openAI(), map[string][]reply{"GET /v1/models": {{401, "", `{"error":{"message":"bad key ` + testKey + `"}}`}}}, "", "check OPENAI_API_KEY"},
		{"a server without a list", openAI(), map[string][]reply{"GET /v1/models": {{404, "", `not here`}}}, "could be checked", ""},
		{"a page instead of an API", openAI(), map[string][]reply{"GET /v1/models": {{200, "", `<html>`}}}, "", "check OPENAI_BASE_URL"},
		{"replicate knows key and model", replicate, map[string][]reply{"GET /v1/account": {{200, "", `{}`}}, "GET /v1/models/acme/pics": {{200, "", `{}`}}}, "1 models", ""},
		{"replicate refuses the token", replicate, map[string][]reply{"GET /v1/account": {{401, "", `{"detail":"no"}`}}}, "", "check REPLICATE_API_TOKEN"},
		{"replicate has no such model", replicate, map[string][]reply{"GET /v1/account": {{200, "", `{}`}}, "GET /v1/models/acme/pics": {{404, "", `{}`}}}, "", "no model acme/pics:v1 (check REPLICATE_MODELS)"},
		{"dashscope takes the key", dashScope, map[string][]reply{nobodys: {{200, "", `{"output":{"task_status":"UNKNOWN"}}`}}}, "the key is taken", ""},
		{"dashscope refuses the key", dashScope, map[string][]reply{nobodys: {{401, "", `{"code":"InvalidApiKey","message":"no"}`}}}, "", "check DASHSCOPE_API_KEY"},
		{"a1111 has the checkpoint", a1111("sdxl"), map[string][]reply{"GET /sdapi/v1/sd-models": {{200, "", `[{"title":"sdxl.safetensors [1a]","model_name":"sdxl"}]`}}}, "1 models", ""},
		{"a1111 lacks the checkpoint", a1111("flux"), map[string][]reply{"GET /sdapi/v1/sd-models": {{200, "", `[]`}}}, "", "check A1111_MODELS"},
		{"a1111 without --api", a1111(), map[string][]reply{"GET /sdapi/v1/sd-models": {{404, "", `{"detail":"Not Found"}`}}}, "", "check A1111_URL"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p, err := row.make(newStandIn(t, row.answers).config())
			if err != nil {
				t.Fatal(err)
			}
			found, err := p.Check(t.Context())
			switch {
			case row.failure == "" && (err != nil || !strings.Contains(found, row.found)):
				t.Errorf("found %q, %v; want %q", found, err, row.found)
			case row.failure != "" && (err == nil || !strings.Contains(err.Error(), row.failure)):
				t.Errorf("got %v, want %q", err, row.failure)
			}
			if err != nil && strings.Contains(err.Error(), testKey) {
				t.Errorf("the key is shown: %v", err)
			}
			if _, ours := errors.AsType[*Error](err); err != nil && !ours {
				t.Errorf("%T", err)
			}
		})
	}
}
