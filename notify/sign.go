package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"afterimage/records"
)

// sign sets the three headers of the Standard Webhooks: the id, which is the
// same in each attempt, the time of this one, and a signature of both and the
// body by each secret that is valid.
func sign(header http.Header, h *records.Webhook, id string, at time.Time, body string) error {
	stamp := strconv.FormatInt(at.Unix(), 10)
	secrets := []string{h.Secret}
	if h.OldSecret != "" && at.Before(h.OldUntil.Time) {
		secrets = append(secrets, h.OldSecret)
	}
	var signatures []string
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return fmt.Errorf("read a webhook's secret: %w", err)
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + stamp + "." + body))
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Timestamp", stamp)
	header.Set("Webhook-Signature", strings.Join(signatures, " "))
	return nil
}
