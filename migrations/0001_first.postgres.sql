-- What prompts are found by: see package records, search.go. SQLite's is in its
-- own file.
CREATE TABLE image_words (
	image_id TEXT PRIMARY KEY REFERENCES images (id) ON DELETE CASCADE,
	text     TEXT NOT NULL, -- the prompt, folded
	grams    TSVECTOR NOT NULL
);
CREATE INDEX image_words_grams ON image_words USING GIN (grams);

-- What the worker does for almost every image, in one call: to delete the rows
-- of completed jobs, add the jobs that follow, write the images and what
-- happened to them, and claim the next archive jobs. Sent as statements it takes
-- ten round trips, and PostgreSQL parses and plans each of them anew; here the
-- plans are kept, also behind a pooler. It does what package records does
-- otherwise: whatever is out of the ordinary is an error that takes everything
-- back, and then the statements are sent.
--
-- The plans are made once, when the tables may be small or large: the settings
-- keep them to the indexes.
CREATE FUNCTION complete_and_claim(
	done JSON,    -- [{job, claim, owner}] by job
	next JSON,    -- rows of jobs
	changes JSON, -- [{image, event}] by owner and image; event may be null
	claim_kind TEXT, claim_limit BIGINT, claim_owner TEXT, claim_instance TEXT, claim_spool TEXT, claim_until TIMESTAMPTZ,
	from_lane BIGINT, from_turn BIGINT, from_deadline TIMESTAMPTZ, from_id TEXT) -- the place where the claim begins to look
-- What was claimed: the job's columns, then its image's, empty where there is no such image.
RETURNS TABLE (
	id TEXT, kind TEXT, ref TEXT, user_id TEXT, data TEXT, state TEXT, lane BIGINT, turn BIGINT,
	deadline TIMESTAMPTZ, run_at TIMESTAMPTZ, claim BIGINT, owner TEXT, instance_id TEXT, leased_until TIMESTAMPTZ,
	attempt BIGINT, crashes BIGINT, spool_id TEXT, pool TEXT, dedupe_key TEXT, last_error TEXT, created_at TIMESTAMPTZ,
	"image.id" TEXT, "image.user_id" TEXT, "image.generation_id" TEXT, "image.import_id" TEXT,
	"image.position" BIGINT, "image.seq" BIGINT, "image.status" TEXT, "image.prompt" TEXT,
	"image.negative_prompt" TEXT, "image.provider" TEXT, "image.model" TEXT, "image.params" TEXT,
	"image.source_url" TEXT, "image.source_expires_at" TIMESTAMPTZ, "image.spool_id" TEXT, "image.object_key" TEXT,
	"image.object_etag" TEXT, "image.mime" TEXT, "image.bytes" BIGINT, "image.width" BIGINT, "image.height" BIGINT,
	"image.sha256" TEXT, "image.thumb" TEXT, "image.placeholder" TEXT, "image.sidecar" TEXT, "image.attempt" BIGINT, "image.next_attempt_at" TIMESTAMPTZ,
	"image.reason" TEXT, "image.provider_message" TEXT, "image.favorite" BOOLEAN, "image.trashed_at" TIMESTAMPTZ,
	"image.created_at" TIMESTAMPTZ, "image.updated_at" TIMESTAMPTZ, "image.archived_at" TIMESTAMPTZ)
LANGUAGE plpgsql
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
	part JSON;
	i images;
	e image_events;
	j jobs;
	number BIGINT;
	told BOOLEAN;
BEGIN
	FOR part IN SELECT json_array_elements(done) LOOP
		DELETE FROM jobs
		WHERE id = part->>'job' AND claim = (part->>'claim')::BIGINT AND owner = part->>'owner' AND state = 'running';
		IF NOT FOUND THEN
			RAISE EXCEPTION 'a claim was lost' USING ERRCODE = 'AF001';
		END IF;
	END LOOP;
	FOR j IN SELECT * FROM json_populate_recordset(NULL::jobs, next) LOOP
		INSERT INTO jobs (id, kind, ref, user_id, data, state, lane, turn, deadline, run_at, spool_id, pool, dedupe_key, created_at)
		VALUES (j.id, j.kind, j.ref, j.user_id, j.data, j.state, j.lane, j.turn, j.deadline, j.run_at, j.spool_id, j.pool, j.dedupe_key,
			j.created_at)
		ON CONFLICT (dedupe_key) DO NOTHING;
	END LOOP;
	FOR part IN SELECT json_array_elements(changes) LOOP
		i := json_populate_record(NULL::images, part->'image');
		UPDATE change_heads SET seq = seq + 1 WHERE user_id = i.user_id RETURNING seq, hooked INTO number, told;
		IF told THEN
			RAISE EXCEPTION 'webhooks are to be told' USING ERRCODE = 'AF002';
		END IF;
		UPDATE images SET seq = number, status = i.status, source_url = i.source_url,
			source_expires_at = i.source_expires_at, spool_id = i.spool_id, object_key = i.object_key,
			object_etag = i.object_etag, mime = i.mime, bytes = i.bytes, width = i.width, height = i.height,
			sha256 = i.sha256, params = i.params, attempt = i.attempt, next_attempt_at = i.next_attempt_at,
			reason = i.reason, provider_message = i.provider_message, updated_at = i.updated_at, archived_at = i.archived_at,
			thumb = CASE WHEN sha256 = i.sha256 THEN thumb ELSE '' END
		WHERE id = i.id AND user_id = i.user_id AND status <> 'archived';
		IF FOUND AND json_typeof(part->'event') = 'object' THEN
			e := json_populate_record(NULL::image_events, part->'event');
			INSERT INTO image_events (id, image_id, kind, attempt, reason, detail, started_at, at)
			VALUES (e.id, e.image_id, e.kind, e.attempt, e.reason, e.detail, e.started_at, e.at);
		END IF;
	END LOOP;
	RETURN QUERY
		WITH due AS MATERIALIZED (
			SELECT id FROM jobs
			WHERE kind = claim_kind AND state = 'ready' AND (spool_id = '' OR spool_id = claim_spool)
				AND NOT EXISTS (SELECT 1 FROM paused_kinds WHERE kind = claim_kind)
				AND (lane, turn, deadline, id) >= (from_lane, from_turn, from_deadline, from_id)
			ORDER BY lane, turn, deadline, id
			LIMIT claim_limit
			FOR UPDATE SKIP LOCKED),
		claimed AS (
			UPDATE jobs SET state = 'running', claim = CASE WHEN claim < 9000000000000000000 THEN claim + 1 ELSE 1 END,
				owner = claim_owner, instance_id = claim_instance, leased_until = claim_until
			FROM due WHERE jobs.id = due.id
			RETURNING jobs.id, jobs.kind, jobs.ref, jobs.user_id, jobs.data, jobs.state, jobs.lane, jobs.turn,
				jobs.deadline, jobs.run_at, jobs.claim, jobs.owner, jobs.instance_id, jobs.leased_until,
				jobs.attempt, jobs.crashes, jobs.spool_id, jobs.pool, jobs.dedupe_key, jobs.last_error, jobs.created_at)
		SELECT c.*,
			coalesce(m.id, ''), coalesce(m.user_id, ''), m.generation_id, m.import_id, coalesce(m.position, 0),
			coalesce(m.seq, 0), coalesce(m.status, ''), coalesce(m.prompt, ''), coalesce(m.negative_prompt, ''),
			coalesce(m.provider, ''), coalesce(m.model, ''), coalesce(m.params, '{}'), coalesce(m.source_url, ''),
			m.source_expires_at, coalesce(m.spool_id, ''), coalesce(m.object_key, ''), coalesce(m.object_etag, ''),
			coalesce(m.mime, ''), coalesce(m.bytes, 0), coalesce(m.width, 0), coalesce(m.height, 0),
			coalesce(m.sha256, ''), coalesce(m.thumb, ''), coalesce(m.placeholder, ''), coalesce(m.sidecar, ''), coalesce(m.attempt, 0), m.next_attempt_at,
			coalesce(m.reason, ''), coalesce(m.provider_message, ''), coalesce(m.favorite, FALSE), m.trashed_at,
			m.created_at, m.updated_at, m.archived_at
		FROM claimed c LEFT JOIN images m ON m.id = c.ref;
END $$;
