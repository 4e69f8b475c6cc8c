-- What prompts are found by: see package records, search.go. PostgreSQL's is in
-- its own file.
CREATE TABLE image_words (
	num      INTEGER PRIMARY KEY,
	image_id TEXT NOT NULL UNIQUE REFERENCES images (id) ON DELETE CASCADE,
	text     TEXT NOT NULL -- the prompt, folded
);
CREATE VIRTUAL TABLE image_grams USING fts5(grams, content='', contentless_delete=1, detail=none, tokenize='ascii');
CREATE TRIGGER image_words_deleted AFTER DELETE ON image_words BEGIN
	DELETE FROM image_grams WHERE rowid = old.num;
END;
