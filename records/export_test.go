package records

// KnowSessions tells the database what Listen would find out, which it cannot
// in a bubble of simulated time.
func (db *DB) KnowSessions(ours bool) {
	db.sessions.Store(sessionsShared)
	if ours {
		db.sessions.Store(sessionsOurs)
	}
}
