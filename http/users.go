package http

import (
	"context"
	"net/http"

	"github.com/go-chi/chi/v5"

	"afterimage/records"
)

type userJSON struct {
	ID          string       `json:"id"`
	Username    string       `json:"username"`
	Role        records.Role `json:"role"`
	CreatedAt   records.Time `json:"created_at"`
	DisabledAt  records.Time `json:"disabled_at"`
	QuotaImages *int64       `json:"quota_images_per_day"` // null: as the settings say; 0: no bound
	QuotaBytes  *int64       `json:"quota_bytes"`
}

func userJSONOf(u *records.User) userJSON {
	return userJSON{u.ID, u.Username, u.Role, u.CreatedAt, u.DisabledAt, u.QuotaImages, u.QuotaBytes}
}

func (s *Server) listUsers(w http.ResponseWriter, r *http.Request) {
	users, err := s.DB.Users(r.Context())
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer := list[userJSON]{Items: []userJSON{}}
	for n := range users {
		answer.Items = append(answer.Items, userJSONOf(&users[n]))
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *Server) getUser(w http.ResponseWriter, r *http.Request) {
	s.answerUser(w, r, chi.URLParam(r, "id"), nil)
}

func (s *Server) answerUser(w http.ResponseWriter, r *http.Request, id string, err error) {
	var u *records.User
	if err == nil {
		u, err = s.DB.User(r.Context(), id)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, userJSONOf(u))
}

type userRequest struct {
	Username string       `json:"username"`
	Password string       `json:"password"` // empty: chosen by a link, which the answer has
	Role     records.Role `json:"role"`     // default member
}

type newUserJSON struct {
	userJSON
	Reset *resetJSON `json:"reset"` // null where a password was given
}

type resetJSON struct {
	URL       string       `json:"url"`
	ExpiresAt records.Time `json:"expires_at"`
}

func (s *Server) makeUser(w http.ResponseWriter, r *http.Request) {
	var req userRequest
	err := readJSON(r, &req)
	var once records.Idempotency
	if err == nil {
		once, err = idempotency(r, "user", req)
	}
	if err == nil && req.Role == "" {
		req.Role = records.Member
	}
	if err == nil {
		err = checkRole(&req.Role)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	answer, err := s.inviteUser(r.Context(), viewerOf(r).user.ID, req, once)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Location", "/api/v1/users/"+answer.ID)
	writeJSON(w, http.StatusCreated, answer)
}

// inviteUser makes an account, and without a password the link to choose one.
func (s *Server) inviteUser(ctx context.Context, by string, req userRequest, once records.Idempotency) (answer newUserJSON, err error) {
	password := req.Password
	if password == "" {
		password = nobodyKnows()
	}
	var u *records.User
	err = s.hash(ctx, func() error {
		u, err = s.DB.CreateUserOnce(ctx, req.Username, password, req.Role, by, once)
		return err
	})
	if err != nil {
		return answer, err
	}
	answer.userJSON = userJSONOf(u)
	if req.Password == "" {
		answer.Reset, err = s.newReset(ctx, u.ID)
	}
	return answer, err
}

// newReset is a link to choose a new password.
func (s *Server) newReset(ctx context.Context, userID string) (*resetJSON, error) {
	token, expires, err := s.DB.NewResetToken(ctx, userID)
	if err != nil {
		return nil, err
	}
	return &resetJSON{s.BaseURL + "/reset?token=" + token, expires}, nil
}

func checkRole(role *records.Role) error {
	if role != nil && *role != records.Admin && *role != records.Member {
		return invalid("role", "role is admin or member.")
	}
	return nil
}

type userPatch struct {
	Role     *records.Role `json:"role"`
	Disabled *bool         `json:"disabled"`
	// Below zero: as the settings say; 0: no bound.
	QuotaImages *int64 `json:"quota_images_per_day"`
	QuotaBytes  *int64 `json:"quota_bytes"`
}

func (s *Server) patchUser(w http.ResponseWriter, r *http.Request) {
	var req userPatch
	id, err := chi.URLParam(r, "id"), readJSON(r, &req)
	if err == nil {
		err = checkRole(req.Role)
	}
	if err == nil {
		err = s.DB.ChangeUser(r.Context(), id, records.UserChange{Role: req.Role, Disabled: req.Disabled,
			QuotaImages: req.QuotaImages, QuotaBytes: req.QuotaBytes})
		s.keys.forget()
	}
	s.answerUser(w, r, id, err)
}

func (s *Server) resetLink(w http.ResponseWriter, r *http.Request) {
	u, err := s.DB.User(r.Context(), chi.URLParam(r, "id"))
	var reset *resetJSON
	if err == nil {
		reset, err = s.newReset(r.Context(), u.ID)
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, http.StatusCreated, reset)
}

// deleteUser deletes an account. What becomes of its images has to be said.
func (s *Server) deleteUser(w http.ResponseWriter, r *http.Request) {
	q, id := r.URL.Query(), chi.URLParam(r, "id")
	to := q.Get("to")
	var err error
	switch {
	case id == viewerOf(r).user.ID:
		err = newProblem(http.StatusConflict, codeNotPossible, "Nobody deletes their own account.")
	case q.Get("images") == "delete" && to == "":
	case q.Get("images") == "hand_over" && records.IsID(to) && to != id:
	default:
		err = invalid("images", "Say what becomes of the images: images=delete, or images=hand_over with to=USER_ID.")
	}
	if err == nil {
		// Once begun it goes on, even if who asked for it goes away.
		err = s.DB.DeleteUser(context.WithoutCancel(r.Context()), id, to)
		s.keys.forget()
	}
	s.answerNothing(w, r, err)
}
