package storage

import (
	"errors"
	"io/fs"
)

// Usage is how many files the spool holds and how many bytes they take.
func (s *Spool) Usage() (files int, bytes int64, err error) {
	for id, err := range s.List() {
		if err != nil {
			return files, bytes, err
		}
		info, err := s.root.Lstat(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // stored meanwhile
		}
		if err != nil {
			return files, bytes, diskError("measure spool", id, err)
		}
		files++
		bytes += info.Size()
	}
	return files, bytes, nil
}
