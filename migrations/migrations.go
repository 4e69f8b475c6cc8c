// Package migrations holds the schema as numbered SQL files, embedded in the
// binary. It owns the files and nothing else: package records applies them.
//
// One text serves PostgreSQL and SQLite; what only one of them has is in
// NNNN_name.postgres.sql or NNNN_name.sqlite.sql beside it. A file is never changed once it has
// been released; a change of the schema is a new file.
package migrations

import "embed"

// FS has the files NNNN_name.sql, to be applied in the order of their names.
//
//go:embed *.sql
var FS embed.FS
