package records

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// Bounds of a password in characters. The upper one keeps a request from
// making us hash a book.
const (
	MinPassword = 8
	MaxPassword = 256
)

// ErrBadPassword says that a password is too short or too long.
var ErrBadPassword = fmt.Errorf("the password must have %d to %d characters", MinPassword, MaxPassword)

// Cost of argon2id: 19 MiB, two passes, one thread, about 30 ms.
const (
	argonTime   = 2
	argonMemory = 19 * 1024 // KiB
	argonKey    = 32
)

// hashPassword returns an argon2id hash in the usual text form.
func hashPassword(password string) (string, error) {
	if n := utf8.RuneCountInString(password); n < MinPassword || n > MaxPassword || !utf8.ValidString(password) {
		return "", ErrBadPassword
	}
	salt := make([]byte, 16)
	rand.Read(salt)
	key := argon2.IDKey([]byte(password), salt, argonTime, argonMemory, 1, argonKey)
	enc := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=1$%s$%s", argon2.Version, argonMemory, argonTime, enc(salt), enc(key)), nil
}

// checkPassword reports whether a password has the hash.
func checkPassword(hash, password string) (bool, error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false, errors.New("a stored password hash is not argon2id")
	}
	var memory, time uint32
	var threads uint8
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &memory, &time, &threads); err != nil {
		return false, fmt.Errorf("a stored password hash is damaged: %w", err)
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false, fmt.Errorf("a stored password hash is damaged: %w", err)
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	if err != nil {
		return false, fmt.Errorf("a stored password hash is damaged: %w", err)
	}
	if len(password) > 4*MaxPassword {
		return false, nil
	}
	got := argon2.IDKey([]byte(password), salt, time, memory, threads, uint32(len(want)))
	return subtle.ConstantTimeCompare(got, want) == 1, nil
}

// nobodysHash is compared against when there is no such user, so that the
// time of the answer does not tell which names exist.
const nobodysHash = "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
