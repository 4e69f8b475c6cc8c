-- Values shared by the whole database, such as the key that signs cursors.
CREATE TABLE secrets (
	name  TEXT PRIMARY KEY,
	value TEXT NOT NULL
);

CREATE TABLE users (
	id            TEXT PRIMARY KEY,
	username      TEXT NOT NULL UNIQUE, -- lower case
	password_hash TEXT NOT NULL,
	role          TEXT NOT NULL CHECK (role IN ('admin', 'member')),
	language      TEXT NOT NULL DEFAULT '',
	theme         TEXT NOT NULL DEFAULT '',
	time_zone     TEXT NOT NULL DEFAULT '', -- as Europe/Vienna; empty: UTC
	digest_hour   BIGINT,                   -- of the person's day; NULL: no digest
	created_at    TIMESTAMPTZ NOT NULL,
	disabled_at   TIMESTAMPTZ,
	quota_images  BIGINT, -- a day; 0: no bound; NULL: as the settings say
	quota_bytes   BIGINT
);

-- The number of each person's latest change. It is raised in the transaction
-- that changes an image, and its row lock makes commits follow the numbers, so
-- that whoever reads up to a number misses nothing below it.
CREATE TABLE change_heads (
	user_id TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
	seq     BIGINT NOT NULL,
	images  BIGINT NOT NULL DEFAULT 0,       -- rows the person has, counted a second time: see conservation
	floor   BIGINT NOT NULL DEFAULT 0,       -- deletions up to this number are forgotten
	hooked  BOOLEAN NOT NULL DEFAULT FALSE,  -- the person has webhooks
	made    BIGINT NOT NULL DEFAULT 0,       -- images on the day made_on, for the quota
	made_on TEXT NOT NULL DEFAULT ''         -- a day in UTC
);

CREATE TABLE sessions (
	token_hash TEXT PRIMARY KEY,
	user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	user_agent TEXT NOT NULL DEFAULT '',
	created_at TIMESTAMPTZ NOT NULL,
	expires_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);

-- Links with which a person chooses a new password.
CREATE TABLE reset_tokens (
	hash       TEXT PRIMARY KEY,
	user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	expires_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE api_keys (
	id           TEXT PRIMARY KEY,
	user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	name         TEXT NOT NULL,
	prefix       TEXT NOT NULL, -- the part that is shown
	hash         TEXT NOT NULL UNIQUE,
	scopes       TEXT NOT NULL, -- separated by a space
	created_at   TIMESTAMPTZ NOT NULL,
	expires_at   TIMESTAMPTZ,
	last_used_at TIMESTAMPTZ,
	revoked_at   TIMESTAMPTZ
);
CREATE INDEX api_keys_user ON api_keys (user_id, created_at);

CREATE TABLE setup_tokens (
	hash       TEXT PRIMARY KEY,
	created_at TIMESTAMPTZ NOT NULL,
	expires_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE generations (
	id               TEXT PRIMARY KEY,
	user_id          TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	status           TEXT NOT NULL CHECK (status IN ('queued', 'generating', 'succeeded', 'failed', 'canceled', 'unknown')),
	provider         TEXT NOT NULL,
	model            TEXT NOT NULL,
	prompt           TEXT NOT NULL,
	negative_prompt  TEXT NOT NULL DEFAULT '',
	params           TEXT NOT NULL DEFAULT '{}', -- JSON: size, seed and the like, as asked for
	n                BIGINT NOT NULL,
	inputs           TEXT NOT NULL DEFAULT '[]', -- JSON: the images to start from
	calls            TEXT NOT NULL DEFAULT '[]', -- JSON: what the provider was asked, and its names for it
	progress         BIGINT NOT NULL DEFAULT 0,  -- per cent, where the provider says it
	reason           TEXT NOT NULL DEFAULT '',
	provider_message TEXT NOT NULL DEFAULT '',
	created_at       TIMESTAMPTZ NOT NULL,
	submitted_at     TIMESTAMPTZ, -- when the paid call began; a crash after it must not buy again
	finished_at      TIMESTAMPTZ,
	fingerprint      TEXT NOT NULL DEFAULT '' -- of the request and its sender, where a client repeats requests by itself
);
CREATE INDEX generations_user ON generations (user_id, created_at);
CREATE INDEX generations_fingerprint ON generations (user_id, fingerprint, created_at) WHERE fingerprint <> '';
CREATE INDEX generations_running ON generations (submitted_at) WHERE status = 'generating';

CREATE TABLE imports (
	id          TEXT PRIMARY KEY,
	user_id     TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	created_at  TIMESTAMPTZ NOT NULL,
	finished_at TIMESTAMPTZ
);
CREATE INDEX imports_open ON imports (created_at) WHERE finished_at IS NULL;

CREATE TABLE images (
	id                TEXT PRIMARY KEY,
	user_id           TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	generation_id     TEXT REFERENCES generations (id) ON DELETE CASCADE,
	import_id         TEXT REFERENCES imports (id) ON DELETE CASCADE,
	position          BIGINT NOT NULL DEFAULT 0, -- within its generation or import
	import_key        TEXT NOT NULL DEFAULT '',  -- of what it was imported from, so that a list may be imported again
	seq               BIGINT NOT NULL,           -- the owner's change number when it last changed
	status            TEXT NOT NULL -- a list of values would cost each write a tenth of its time
	                  CHECK (' queued generating generated archiving retry_wait archived archive_failed generate_failed canceled unknown '
	                         LIKE '% ' || status || ' %'),
	prompt            TEXT NOT NULL DEFAULT '',
	negative_prompt   TEXT NOT NULL DEFAULT '',
	provider          TEXT NOT NULL DEFAULT '',
	model             TEXT NOT NULL DEFAULT '',
	params            TEXT NOT NULL DEFAULT '{}',
	source_url        TEXT NOT NULL DEFAULT '', -- emptied once the object is stored
	source_expires_at TIMESTAMPTZ,
	spool_id          TEXT NOT NULL DEFAULT '', -- the spool that holds the bytes, while one does
	object_key        TEXT NOT NULL DEFAULT '',
	object_etag       TEXT NOT NULL DEFAULT '',
	mime              TEXT NOT NULL DEFAULT '',
	bytes             BIGINT NOT NULL DEFAULT 0,
	width             BIGINT NOT NULL DEFAULT 0, -- as asked for until the bytes are there
	height            BIGINT NOT NULL DEFAULT 0,
	sha256            TEXT NOT NULL DEFAULT '',
	thumb             TEXT NOT NULL DEFAULT '', -- jpg or png: there are thumbnails; none: there cannot be; empty: not yet
	placeholder       TEXT NOT NULL DEFAULT '', -- base64 of a thumbhash, drawn until the picture is there
	sidecar           TEXT NOT NULL DEFAULT '', -- the part of its sidecar's key that nobody can guess
	attempt           BIGINT NOT NULL DEFAULT 0, -- the number of the attempt that runs or ran last
	next_attempt_at   TIMESTAMPTZ,
	reason            TEXT NOT NULL DEFAULT '',
	provider_message  TEXT NOT NULL DEFAULT '',
	favorite          BOOLEAN NOT NULL DEFAULT FALSE,
	trashed_at        TIMESTAMPTZ,
	warned            BIGINT NOT NULL DEFAULT 0, -- how many warnings were given that its source is about to die
	created_at        TIMESTAMPTZ NOT NULL,
	updated_at        TIMESTAMPTZ NOT NULL,
	archived_at       TIMESTAMPTZ,
	verified_at       TIMESTAMPTZ -- when its object was read back last and was whole; null: not since it was stored
);
CREATE INDEX images_user_created ON images (user_id, created_at, id);
CREATE UNIQUE INDEX images_user_seq ON images (user_id, seq);
CREATE INDEX images_generation ON images (generation_id, position) WHERE generation_id IS NOT NULL;
CREATE UNIQUE INDEX images_import_key ON images (user_id, import_key) WHERE import_key <> '';
CREATE INDEX images_import ON images (import_id, position) WHERE import_id IS NOT NULL;
CREATE INDEX images_user_status ON images (user_id, status, created_at, id) WHERE trashed_at IS NULL;
CREATE INDEX images_trash ON images (user_id, created_at, id) WHERE trashed_at IS NOT NULL;
-- Whose turn it is to be read back: the index gives it without a sort.
CREATE INDEX images_verify ON images (COALESCE(verified_at, archived_at, created_at), id) WHERE status = 'archived';
-- Stored once and found damaged or missing since: they are looked at again.
CREATE INDEX images_damaged ON images (id) WHERE status = 'archive_failed' AND object_key <> '';
CREATE INDEX images_unfinished ON images (created_at) WHERE status IN ('generated', 'archiving', 'retry_wait');
CREATE INDEX images_expiring ON images (source_expires_at) WHERE status IN ('generated', 'archiving', 'retry_wait')
	AND source_expires_at IS NOT NULL;
-- For operators: what failed, by reason.
CREATE INDEX images_failed ON images (updated_at, reason) WHERE status IN ('archive_failed', 'generate_failed');
CREATE INDEX images_unknown ON images (generation_id) WHERE status = 'unknown';
CREATE INDEX images_trashed ON images (trashed_at) WHERE trashed_at IS NOT NULL;

-- What a poller has to be told of images that are gone.
CREATE TABLE deleted_images (
	id         TEXT PRIMARY KEY,
	user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	seq        BIGINT NOT NULL,
	deleted_at TIMESTAMPTZ NOT NULL
);
CREATE UNIQUE INDEX deleted_images_user_seq ON deleted_images (user_id, seq);
CREATE INDEX deleted_images_at ON deleted_images (deleted_at);

-- What happened to an image, oldest first.
CREATE TABLE image_events (
	image_id   TEXT NOT NULL REFERENCES images (id) ON DELETE CASCADE,
	id         TEXT NOT NULL, -- ordered by time
	kind       TEXT NOT NULL,
	attempt    BIGINT NOT NULL DEFAULT 0,
	reason     TEXT NOT NULL DEFAULT '',
	detail     TEXT NOT NULL DEFAULT '', -- for operators
	started_at TIMESTAMPTZ,              -- of an attempt
	at         TIMESTAMPTZ NOT NULL,
	PRIMARY KEY (image_id, id)
);

CREATE TABLE idempotency_keys (
	user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	key          TEXT NOT NULL,
	request_hash TEXT NOT NULL,
	ref          TEXT NOT NULL, -- what the first request made
	created_at   TIMESTAMPTZ NOT NULL,
	PRIMARY KEY (user_id, key)
);

-- A process that is running, or was when it crashed.
CREATE TABLE instances (
	id         TEXT PRIMARY KEY,
	spool_id   TEXT NOT NULL,
	kinds      TEXT NOT NULL DEFAULT '', -- of job that it runs, a space around each
	started_at TIMESTAMPTZ NOT NULL,
	beat_at    TIMESTAMPTZ NOT NULL
);

-- The queue: narrow, and a row lives only as long as its work.
CREATE TABLE jobs (
	id           TEXT PRIMARY KEY, -- ordered by age
	kind         TEXT NOT NULL,
	ref          TEXT,
	user_id      TEXT NOT NULL DEFAULT '',
	data         TEXT NOT NULL DEFAULT '',
	state        TEXT NOT NULL CHECK (' ready waiting held suspect running discarded ' LIKE '% ' || state || ' %'),
	lane         BIGINT NOT NULL DEFAULT 0,  -- 0 somebody waits, 1 bulk import, 2 whenever there is time
	turn         BIGINT NOT NULL DEFAULT 0,  -- within the lane, so that several people's imports take turns; 0 goes first
	deadline     TIMESTAMPTZ NOT NULL,       -- the source's expiry; year 9999 where there is none
	run_at       TIMESTAMPTZ NOT NULL,
	claim        BIGINT NOT NULL DEFAULT 0,  -- rises with every claim
	owner        TEXT NOT NULL DEFAULT '',   -- random, new with every claim
	instance_id  TEXT NOT NULL DEFAULT '',
	leased_until TIMESTAMPTZ,
	attempt      BIGINT NOT NULL DEFAULT 0,  -- failures that count against the source
	crashes      BIGINT NOT NULL DEFAULT 0,  -- claims that ended with their process
	spool_id     TEXT NOT NULL DEFAULT '',   -- set: only an instance with this spool can do it
	pool         TEXT NOT NULL DEFAULT '',   -- within its kind: jobs of one pool share slots, as one provider's do
	dedupe_key   TEXT UNIQUE,
	last_error   TEXT NOT NULL DEFAULT '',
	created_at   TIMESTAMPTZ NOT NULL
);
CREATE INDEX jobs_ready ON jobs (kind, lane, turn, deadline, id) WHERE state = 'ready';
CREATE INDEX jobs_pool ON jobs (kind, pool, lane, turn, deadline, id) WHERE state = 'ready' AND pool <> '';
CREATE INDEX jobs_waiting ON jobs (run_at) WHERE state = 'waiting';
CREATE INDEX jobs_running ON jobs (leased_until) WHERE state = 'running';
CREATE INDEX jobs_held ON jobs (spool_id) WHERE state = 'held';
CREATE INDEX jobs_suspect ON jobs (crashes, id) WHERE state = 'suspect';
CREATE INDEX jobs_discarded ON jobs (id) WHERE state = 'discarded';
CREATE INDEX jobs_turn ON jobs (user_id, turn) WHERE state = 'ready' AND lane = 1;
CREATE INDEX jobs_patient ON jobs (deadline) WHERE state = 'ready' AND turn > 0;
CREATE INDEX jobs_ref ON jobs (ref);

-- What was enqueued for a day or a moment, so that it is not enqueued again
-- when its job is done.
CREATE TABLE job_keys (
	key    TEXT PRIMARY KEY,
	due_at TIMESTAMPTZ NOT NULL
);

-- Kinds of job that an operator has paused.
CREATE TABLE paused_kinds (
	kind      TEXT PRIMARY KEY,
	paused_at TIMESTAMPTZ NOT NULL,
	paused_by TEXT NOT NULL -- a username
);

-- What is wrong for as long as it is.
CREATE TABLE alarms (
	name      TEXT PRIMARY KEY,
	detail    TEXT NOT NULL, -- for operators
	n         BIGINT NOT NULL,
	raised_at TIMESTAMPTZ NOT NULL,
	seen_at   TIMESTAMPTZ NOT NULL -- when it was found to be so last
);

-- How the queue was, for the charts of the last days: one row for five minutes.
CREATE TABLE samples (
	at         TIMESTAMPTZ PRIMARY KEY,
	generating BIGINT NOT NULL,
	archiving  BIGINT NOT NULL,
	retrying   BIGINT NOT NULL,
	running    BIGINT NOT NULL,
	slots      BIGINT NOT NULL,
	oldest_ms  BIGINT NOT NULL,
	archived   BIGINT NOT NULL,
	bytes      BIGINT NOT NULL,
	p50_ms     BIGINT NOT NULL,
	p95_ms     BIGINT NOT NULL
);

CREATE TABLE webhooks (
	id            TEXT PRIMARY KEY,
	user_id       TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	url           TEXT NOT NULL,
	events        TEXT NOT NULL, -- a space around each
	secret        TEXT NOT NULL,
	old_secret    TEXT NOT NULL DEFAULT '', -- signs as well until old_until
	old_until     TIMESTAMPTZ,
	created_at    TIMESTAMPTZ NOT NULL,
	delivered_at  TIMESTAMPTZ, -- the last time
	failing_since TIMESTAMPTZ,
	disabled_at   TIMESTAMPTZ,
	reason        TEXT NOT NULL DEFAULT '' -- of the last failure
);
CREATE INDEX webhooks_user ON webhooks (user_id, created_at);

CREATE TABLE webhook_deliveries (
	id          TEXT PRIMARY KEY, -- ordered by time; what receivers see as webhook-id
	webhook_id  TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
	user_id     TEXT NOT NULL,
	event       TEXT NOT NULL,
	ref         TEXT NOT NULL,
	body        TEXT NOT NULL DEFAULT '', -- as it was first sent
	state       TEXT NOT NULL CHECK (state IN ('waiting', 'delivered', 'failed')),
	attempt     BIGINT NOT NULL DEFAULT 0,
	status      BIGINT NOT NULL DEFAULT 0, -- HTTP, of the last attempt; 0: no answer
	error       TEXT NOT NULL DEFAULT '',
	created_at  TIMESTAMPTZ NOT NULL,
	finished_at TIMESTAMPTZ
);
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, id);

CREATE TABLE digests (
	user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	day        TEXT NOT NULL, -- of the person, as 2006-01-02
	from_at    TIMESTAMPTZ NOT NULL,
	to_at      TIMESTAMPTZ NOT NULL,
	data       TEXT NOT NULL, -- JSON
	PRIMARY KEY (user_id, day)
);

CREATE TABLE usage_daily (
	user_id  TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
	day      TEXT NOT NULL, -- in UTC, as 2006-01-02
	provider TEXT NOT NULL,
	images   BIGINT NOT NULL,
	archived BIGINT NOT NULL,
	failed   BIGINT NOT NULL,
	bytes    BIGINT NOT NULL,
	PRIMARY KEY (user_id, day, provider)
);
