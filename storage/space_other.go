//go:build !linux && !darwin && !freebsd

package storage

import "errors"

// freeSpace is not known here; a full disk is still seen when a write fails.
func freeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }
