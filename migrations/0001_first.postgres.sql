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
	claim_kind TEXT, claim_limit BIGINT, claim_owner TEXT, claim_instance TEXT, claim_spool TEXT, claim_until TIMESTAMPTZ)
RETURNS SETOF TEXT -- {"job": row, "image": row} for each claim
LANGUAGE plpgsql
SET jit = off SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
	part JSON;
	i images;
	e image_events;
	j jobs;
BEGIN
	FOR part IN SELECT json_array_elements(done) LOOP
		DELETE FROM jobs
		WHERE id = part->>'job' AND claim = (part->>'claim')::BIGINT AND owner = part->>'owner' AND state = 'running';
		IF NOT FOUND THEN
			RAISE EXCEPTION 'a claim was lost' USING ERRCODE = 'AF001';
		END IF;
	END LOOP;
	FOR j IN SELECT * FROM json_populate_recordset(NULL::jobs, next) LOOP
		INSERT INTO jobs (id, kind, ref, user_id, state, lane, deadline, run_at, dedupe_key, created_at)
		VALUES (j.id, j.kind, j.ref, j.user_id, j.state, j.lane, j.deadline, j.run_at, j.dedupe_key, j.created_at)
		ON CONFLICT (dedupe_key) DO NOTHING;
	END LOOP;
	FOR part IN SELECT json_array_elements(changes) LOOP
		i := json_populate_record(NULL::images, part->'image');
		UPDATE change_heads SET seq = seq + 1 WHERE user_id = i.user_id RETURNING seq INTO i.seq;
		UPDATE images SET seq = i.seq, status = i.status, source_url = i.source_url,
			source_expires_at = i.source_expires_at, spool_id = i.spool_id, object_key = i.object_key,
			object_etag = i.object_etag, mime = i.mime, bytes = i.bytes, width = i.width, height = i.height,
			sha256 = i.sha256, params = i.params, attempt = i.attempt, next_attempt_at = i.next_attempt_at,
			reason = i.reason, provider_message = i.provider_message, updated_at = i.updated_at, archived_at = i.archived_at
		WHERE id = i.id AND user_id = i.user_id AND status <> 'archived';
		IF FOUND AND json_typeof(part->'event') = 'object' THEN
			e := json_populate_record(NULL::image_events, part->'event');
			INSERT INTO image_events (id, image_id, kind, attempt, reason, detail, started_at, at)
			VALUES (e.id, e.image_id, e.kind, e.attempt, e.reason, e.detail, e.started_at, e.at);
		END IF;
	END LOOP;
	FOR j IN
		WITH due AS MATERIALIZED (
			SELECT id FROM jobs
			WHERE kind = claim_kind AND state = 'ready' AND (spool_id = '' OR spool_id = claim_spool)
			ORDER BY lane, turn, deadline, id
			LIMIT claim_limit
			FOR UPDATE SKIP LOCKED)
		UPDATE jobs SET state = 'running', claim = CASE WHEN claim < 9000000000000000000 THEN claim + 1 ELSE 1 END,
			owner = claim_owner, instance_id = claim_instance, leased_until = claim_until
		FROM due WHERE jobs.id = due.id
		RETURNING jobs.*
	LOOP
		SELECT * INTO i FROM images WHERE id = j.ref;
		IF NOT FOUND THEN
			RAISE EXCEPTION 'a job is about no image' USING ERRCODE = 'AF001';
		END IF;
		RETURN NEXT json_build_object('job', j, 'image', i)::TEXT;
	END LOOP;
END $$;
