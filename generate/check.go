package generate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Checker is a Provider whose settings can be proven without paying.
type Checker interface {
	Provider

	// Check asks the server whether it takes our key and has our models. It
	// makes no image and costs nothing. found is a few words for operators,
	// also of what could not be found out; an *Error names the setting to change.
	Check(ctx context.Context) (found string, err error)
}

var _, _, _, _ Checker = (*OpenAI)(nil), (*Replicate)(nil), (*DashScope)(nil), (*A1111)(nil)

// Check reads the server's list of models.
func (p *OpenAI) Check(ctx context.Context) (string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	err := p.api.json(ctx, exchange{method: http.MethodGet, path: "/models"}, nil, &list)
	if e, ok := errors.AsType[*Error](err); ok && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) {
		return "the server answers, but does not list its models, so neither key nor models could be checked", nil
	}
	if err != nil {
		return "", err
	}
	var has []string
	for _, m := range list.Data {
		has = append(has, m.ID)
	}
	return missing(p.models, has, "OPENAI_MODELS")
}

// missing compares the models that we offer with those that the server has.
func missing(offered []Model, has []string, setting string) (string, error) {
	var not []string
	for _, m := range offered {
		if !slices.Contains(has, m.Name) {
			not = append(not, m.Name)
		}
	}
	switch {
	case len(not) == 0:
		return fmt.Sprintf("%d models", len(offered)), nil
	case len(not) < len(offered):
		return fmt.Sprintf("%d models; the server's list lacks %s (%s)", len(offered)-len(not), strings.Join(not, ", "), setting), nil
	}
	return "", &Error{Reason: ReasonModelMissing, Setting: setting, Detail: fmt.Sprintf("the server lists none of %s (check %s)", strings.Join(not, ", "), setting)}
}

// Check reads the account, and each model that was named.
func (p *Replicate) Check(ctx context.Context) (string, error) {
	if err := p.api.json(ctx, exchange{method: http.MethodGet, path: "/account"}, nil, nil); err != nil {
		return "", err
	}
	for _, m := range p.models {
		name, _, _ := strings.Cut(m.Name, ":")
		owner, model, _ := strings.Cut(name, "/")
		err := p.api.json(ctx, exchange{method: http.MethodGet, path: "/models/" + url.PathEscape(owner) + "/" + url.PathEscape(model)}, nil, nil)
		if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusNotFound {
			return "", &Error{Reason: ReasonModelMissing, Setting: "REPLICATE_MODELS", Status: e.Status, Detail: "there is no model " + m.Name + " (check REPLICATE_MODELS)"}
		}
		if err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d models", len(p.models)), nil
}

// Check asks about a task that nobody has: the key is looked at before it is
// not found.
func (p *DashScope) Check(ctx context.Context) (string, error) {
	const nobodys = "/tasks/00000000-0000-0000-0000-000000000000"
	err := p.api.json(ctx, exchange{method: http.MethodGet, path: nobodys}, nil, nil)
	e, failed := errors.AsType[*Error](err)
	notFound := failed && (e.Status == http.StatusNotFound || e.Status == http.StatusBadRequest) && e.Reason != ReasonAuth
	if err != nil && !notFound {
		return "", err
	}
	return "the key is taken; this API does not list its models", nil
}

// Check reads the list of checkpoints.
func (p *A1111) Check(ctx context.Context) (string, error) {
	var list []struct {
		Title string `json:"title"`
		Name  string `json:"model_name"`
	}
	if err := p.api.json(ctx, exchange{method: http.MethodGet, path: "/sdapi/v1/sd-models"}, nil, &list); err != nil {
		return "", err
	}
	has := []string{a1111Default}
	for _, m := range list {
		has = append(has, m.Title, m.Name)
	}
	return missing(p.models, has, "A1111_MODELS")
}
