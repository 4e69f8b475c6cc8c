package http

import (
	"context"
	"errors"
	"io"
	"time"

	"afterimage/storage"
)

// Store is the store with its operations counted.
func (m *Metrics) Store(s storage.Store) storage.Store { return countedStore{s, m} }

type countedStore struct {
	storage.Store
	m *Metrics
}

func (s countedStore) count(operation string, began time.Time, err error) {
	result := "ok"
	if e, ok := errors.AsType[*storage.Error](err); ok {
		result = e.Reason
	} else if errors.Is(err, storage.ErrNotFound) {
		result = "not_found"
	} else if err != nil {
		result = "interrupted" // whoever asked went away, or gave other bytes
	}
	s.m.storeOps.WithLabelValues(operation, result).Inc()
	s.m.storeTime.WithLabelValues(operation).Observe(time.Since(began).Seconds())
}

// Put implements storage.Store.
func (s countedStore) Put(ctx context.Context, o storage.Object, body io.ReadSeeker) (storage.Info, error) {
	began := time.Now()
	info, err := s.Store.Put(ctx, o, body)
	s.count("put", began, err)
	return info, err
}

// Open implements storage.Store. The time is until the first byte.
func (s countedStore) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, storage.Info, error) {
	began := time.Now()
	body, info, err := s.Store.Open(ctx, key, offset, length)
	s.count("open", began, err)
	return body, info, err
}

// Stat implements storage.Store.
func (s countedStore) Stat(ctx context.Context, key string) (storage.Info, error) {
	began := time.Now()
	info, err := s.Store.Stat(ctx, key)
	s.count("stat", began, err)
	return info, err
}

// Delete implements storage.Store.
func (s countedStore) Delete(ctx context.Context, key string) error {
	began := time.Now()
	err := s.Store.Delete(ctx, key)
	s.count("delete", began, err)
	return err
}

// List implements storage.Store.
func (s countedStore) List(ctx context.Context, prefix, after string, limit int) ([]storage.Info, error) {
	began := time.Now()
	list, err := s.Store.List(ctx, prefix, after, limit)
	s.count("list", began, err)
	return list, err
}
