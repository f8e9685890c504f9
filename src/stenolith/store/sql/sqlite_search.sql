-- Full text over owner-scoped terms (store/search.py).  CROSS JOIN fixes the order: the index first, then its rows.
-- name: search_term_counts
SELECT t.value AS term, d.doc AS n FROM json_each(:terms) t CROSS JOIN search_df d ON d.term = t.value;

-- name: search_start_count
SELECT COALESCE(SUM(doc), 0) AS n FROM search_df WHERE term >= :low AND term < :high;

-- name: search_row_count
SELECT COUNT(*) AS n FROM search_rows WHERE owner_id = :owner_id AND layer = :layer;

-- name: search_mean_length
SELECT COALESCE(AVG(length + context_length), 1.0) AS mean FROM (
  SELECT length, context_length FROM search_rows WHERE owner_id = :owner_id AND layer = :layer LIMIT 1000
);

-- The rows that hold each piece, as one text of numbers: a row of the result for each of them would cost ten times more.
-- name: search_postings
SELECT j.key AS piece, (
  SELECT group_concat(rowid) FROM search_fts
  WHERE search_fts MATCH json_extract(j.value, '$.column') || ' : (' || json_extract(j.value, '$.words') || ')'
) AS numbers
FROM json_each(:pieces) j;

-- name: rows_record
SELECT s.ref_id, s.terms, s.context, s.length, s.context_length, s.occurred_ms, s.speaker, s.declarative
FROM json_each(:rows) j CROSS JOIN search_rows s CROSS JOIN l0_conversations r
WHERE s.row_id = j.value AND s.layer = 'record' AND r.record_id = s.ref_id AND r.owner_id = :owner_id
  AND (:session_key = '' OR r.session_key = :session_key)
  AND (:since_ms IS NULL OR r.timestamp >= :since_ms) AND (:until_ms IS NULL OR r.timestamp < :until_ms)
  AND (:as_of_ms IS NULL OR r.timestamp <= :as_of_ms)
ORDER BY j.key;

-- name: rows_atom
SELECT s.ref_id, s.terms, s.context, s.length, s.context_length, s.occurred_ms, s.speaker, s.declarative
FROM json_each(:rows) j CROSS JOIN search_rows s CROSS JOIN atoms a
WHERE s.row_id = j.value AND s.layer = 'atom' AND a.atom_id = s.ref_id AND a.owner_id = :owner_id
  AND CASE
    WHEN :as_of_ms IS NOT NULL THEN a.status <> 'withdrawn' AND a.valid_from <= :as_of_ms
      AND (a.valid_until IS NULL OR a.valid_until > :as_of_ms) AND (a.expires_at IS NULL OR a.expires_at > :as_of_ms)
    WHEN :history THEN a.status <> 'withdrawn'
    ELSE a.status = 'active' AND (a.expires_at IS NULL OR a.expires_at > :now_ms) END
  AND (:task_session IS NULL OR a.task_only = 0 OR a.session_key = :task_session)
  AND (:kinds = '[]' OR a.kind IN (SELECT value FROM json_each(:kinds)))
  AND (:session_key = '' OR a.session_key = :session_key)
  AND (:since_ms IS NULL OR COALESCE(a.occurred_end, a.occurred_start, a.valid_from) >= :since_ms)
  AND (:until_ms IS NULL OR COALESCE(a.occurred_start, a.valid_from) < :until_ms)
  AND (:scene = '' OR a.scene_id IN (
    SELECT c.scene_id FROM scenes c WHERE c.owner_id = :owner_id
      AND (c.scene_id = :scene OR c.name = :scene OR instr(lower(c.title), lower(:scene)) > 0)))
ORDER BY j.key;

-- name: rows_past
SELECT s.ref_id, s.terms, s.context, s.length, s.context_length, s.occurred_ms, s.speaker, s.declarative
FROM json_each(:rows) j CROSS JOIN search_rows s CROSS JOIN atoms a
WHERE s.row_id = j.value AND s.layer = 'atom' AND a.atom_id = s.ref_id AND a.owner_id = :owner_id
  AND a.status = 'superseded'
ORDER BY j.key;

-- name: rows_scene
SELECT s.ref_id, s.terms, s.context, s.length, s.context_length, s.occurred_ms, s.speaker, s.declarative
FROM json_each(:rows) j CROSS JOIN search_rows s CROSS JOIN scenes c
WHERE s.row_id = j.value AND s.layer = 'scene' AND c.scene_id = s.ref_id AND c.owner_id = :owner_id
  AND (:history OR c.archived = 0)
  AND (:since_ms IS NULL OR c.updated_at >= :since_ms) AND (:until_ms IS NULL OR c.created_at < :until_ms)
ORDER BY j.key;

-- name: search_rows_known
SELECT s.row_id, s.ref_id FROM json_each(:refs) j CROSS JOIN search_rows s
WHERE s.layer = :layer AND s.ref_id = j.value
ORDER BY j.key;

-- name: search_new_rows
WITH RECURSIVE fresh (row_id) AS (
  SELECT COALESCE(MAX(row_id), 0) + 1 FROM search_rows UNION ALL SELECT row_id + 1 FROM fresh LIMIT :count
)
SELECT row_id FROM fresh;

-- name: put_search_row
INSERT INTO search_rows
  (row_id, owner_id, layer, ref_id, terms, context, length, context_length, occurred_ms, speaker, session_ref, seq,
   declarative)
VALUES
  (:row_id, :owner_id, :layer, :ref_id, :terms, '', :length, 0, :occurred_ms, :speaker, :session_ref, :seq,
   :declarative)
ON CONFLICT (layer, ref_id) DO UPDATE SET
  owner_id = excluded.owner_id, terms = excluded.terms, context = '', length = excluded.length, context_length = 0,
  occurred_ms = excluded.occurred_ms, speaker = excluded.speaker, session_ref = excluded.session_ref,
  seq = excluded.seq, declarative = excluded.declarative;

-- name: search_window
SELECT row_id, owner_id, terms, context, length, seq FROM search_rows
WHERE session_ref = :session_ref
  AND seq >= COALESCE((SELECT MIN(seq) FROM (
    SELECT seq FROM search_rows WHERE session_ref = :session_ref AND seq < :low ORDER BY seq DESC LIMIT 4)), :low)
  AND seq <= COALESCE((SELECT MAX(seq) FROM (
    SELECT seq FROM search_rows WHERE session_ref = :session_ref AND seq > :high ORDER BY seq LIMIT 4)), :high)
ORDER BY seq;

-- name: set_search_context
UPDATE search_rows SET context = :context, context_length = :context_length WHERE row_id = :row_id;

-- name: put_search_text
INSERT OR REPLACE INTO search_fts (rowid, terms, context) VALUES (:row_id, :terms, :context);

-- name: drop_search_text
DELETE FROM search_fts WHERE rowid = :row_id;

-- name: drop_search_rows
DELETE FROM search_rows
WHERE owner_id = :owner_id AND layer = :layer AND ref_id IN (SELECT value FROM json_each(:refs))
RETURNING row_id, session_ref, seq;

-- name: clear_search_rows
DELETE FROM search_rows;

-- name: clear_search_text
INSERT INTO search_fts (search_fts) VALUES ('delete-all');

-- name: compact_search_text
INSERT INTO search_fts (search_fts) VALUES ('optimize');
