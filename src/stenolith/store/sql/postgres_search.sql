-- Full text over owner-scoped terms (store/search.py).  A piece is written for SQLite's FTS5: terms in double quotes,
-- ``" *`` for a beginning, AND.  A term holds no quote and no blank (store/search.py ``indexed``), so putting single
-- quotes, ``:*`` and & for them makes a tsquery of it.
-- name: search_term_counts
SELECT asked.term, hits.n
FROM json_array_elements_text(CAST(:terms AS JSON)) AS asked (term)
CROSS JOIN LATERAL (SELECT CAST('''' || asked.term || '''' AS TSQUERY) AS words) AS query
CROSS JOIN LATERAL (
  SELECT COUNT(*) AS n FROM (
    SELECT 1 FROM search_fts WHERE terms @@ query.words OR context @@ query.words LIMIT 50000
  ) AS found
) AS hits
WHERE hits.n > 0;

-- name: search_start_count
SELECT COUNT(*) AS n FROM (
  SELECT 1 FROM search_fts
  WHERE terms @@ CAST('''' || :low || ''':*' AS TSQUERY) OR context @@ CAST('''' || :low || ''':*' AS TSQUERY) LIMIT 50000
) AS found;

-- name: search_row_count
SELECT COUNT(*) AS n FROM search_rows WHERE owner_id = :owner_id AND layer = :layer;

-- name: search_mean_length
SELECT COALESCE(AVG(length + context_length), 1) AS mean FROM (
  SELECT length, context_length FROM search_rows WHERE owner_id = :owner_id AND layer = :layer LIMIT 1000
) AS sample;

-- The rows that hold each piece, as one text of numbers.
-- name: search_postings
SELECT wanted.place - 1 AS piece, found.numbers
FROM json_array_elements(CAST(:pieces AS JSON)) WITH ORDINALITY AS wanted (piece, place)
CROSS JOIN LATERAL (
  SELECT CAST(replace(replace(replace(wanted.piece ->> 'words', '" *', ''':*'), '"', ''''), ' AND ', ' & ') AS TSQUERY) AS words
) AS asked
CROSS JOIN LATERAL (
  SELECT string_agg(CAST(hits.row_id AS TEXT), ',') AS numbers FROM (
    SELECT row_id FROM search_fts WHERE wanted.piece ->> 'column' = 'terms' AND terms @@ asked.words
    UNION ALL
    SELECT row_id FROM search_fts WHERE wanted.piece ->> 'column' = 'context' AND context @@ asked.words
  ) AS hits
) AS found;

-- name: rows_record
SELECT s.ref_id, s.terms, s.context, s.length, s.context_length, s.occurred_ms, s.speaker, s.declarative
FROM json_array_elements_text(CAST(:rows AS JSON)) WITH ORDINALITY AS wanted (row_id, place)
JOIN search_rows s ON s.row_id = CAST(wanted.row_id AS BIGINT) AND s.layer = 'record'
JOIN l0_conversations r ON r.record_id = s.ref_id
WHERE +r.owner_id = :owner_id
  AND (:session_key = '' OR r.session_key = :session_key)
  AND (CAST(:since_ms AS BIGINT) IS NULL OR r.timestamp >= :since_ms) AND (CAST(:until_ms AS BIGINT) IS NULL OR r.timestamp < :until_ms)
  AND (CAST(:as_of_ms AS BIGINT) IS NULL OR r.timestamp <= :as_of_ms)
ORDER BY wanted.place;

-- name: rows_atom
SELECT s.ref_id, s.terms, s.context, s.length, s.context_length, s.occurred_ms, s.speaker, s.declarative
FROM json_array_elements_text(CAST(:rows AS JSON)) WITH ORDINALITY AS wanted (row_id, place)
JOIN search_rows s ON s.row_id = CAST(wanted.row_id AS BIGINT) AND s.layer = 'atom'
JOIN atoms a ON a.atom_id = s.ref_id
WHERE +a.owner_id = :owner_id
  AND CASE
    WHEN CAST(:as_of_ms AS BIGINT) IS NOT NULL THEN a.status <> 'withdrawn' AND a.valid_from <= :as_of_ms
      AND (a.valid_until IS NULL OR a.valid_until > :as_of_ms) AND (a.expires_at IS NULL OR a.expires_at > :as_of_ms)
    WHEN :history = 1 THEN a.status <> 'withdrawn'
    ELSE a.status = 'active' AND (a.expires_at IS NULL OR a.expires_at > :now_ms) END
  AND (CAST(:task_session AS TEXT) IS NULL OR a.task_only = 0 OR a.session_key = :task_session)
  AND (:kinds = '[]' OR a.kind = ANY (ARRAY(SELECT json_array_elements_text(CAST(:kinds AS JSON)))))
  AND (:session_key = '' OR a.session_key = :session_key)
  AND (CAST(:since_ms AS BIGINT) IS NULL OR COALESCE(a.occurred_end, a.occurred_start, a.valid_from) >= :since_ms)
  AND (CAST(:until_ms AS BIGINT) IS NULL OR COALESCE(a.occurred_start, a.valid_from) < :until_ms)
  AND (:scene = '' OR a.scene_id IN (
    SELECT c.scene_id FROM scenes c WHERE c.owner_id = :owner_id
      AND (c.scene_id = :scene OR c.name = :scene OR strpos(lower(c.title), lower(:scene)) > 0)))
ORDER BY wanted.place;

-- name: rows_past
SELECT s.ref_id, s.terms, s.context, s.length, s.context_length, s.occurred_ms, s.speaker, s.declarative
FROM json_array_elements_text(CAST(:rows AS JSON)) WITH ORDINALITY AS wanted (row_id, place)
JOIN search_rows s ON s.row_id = CAST(wanted.row_id AS BIGINT) AND s.layer = 'atom'
JOIN atoms a ON a.atom_id = s.ref_id
WHERE +a.owner_id = :owner_id AND a.status = 'superseded'
ORDER BY wanted.place;

-- name: rows_scene
SELECT s.ref_id, s.terms, s.context, s.length, s.context_length, s.occurred_ms, s.speaker, s.declarative
FROM json_array_elements_text(CAST(:rows AS JSON)) WITH ORDINALITY AS wanted (row_id, place)
JOIN search_rows s ON s.row_id = CAST(wanted.row_id AS BIGINT) AND s.layer = 'scene'
JOIN scenes c ON c.scene_id = s.ref_id
WHERE +c.owner_id = :owner_id
  AND (:history = 1 OR c.archived = 0)
  AND (CAST(:since_ms AS BIGINT) IS NULL OR c.updated_at >= :since_ms) AND (CAST(:until_ms AS BIGINT) IS NULL OR c.created_at < :until_ms)
ORDER BY wanted.place;

-- name: search_rows_known
SELECT row_id, ref_id FROM search_rows
WHERE layer = :layer AND ref_id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:refs AS JSON))));

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
    SELECT seq FROM search_rows WHERE session_ref = :session_ref AND seq < :low ORDER BY seq DESC LIMIT 4) AS beside), :low)
  AND seq <= COALESCE((SELECT MAX(seq) FROM (
    SELECT seq FROM search_rows WHERE session_ref = :session_ref AND seq > :high ORDER BY seq LIMIT 4) AS beside), :high)
ORDER BY seq;

-- name: set_search_context
UPDATE search_rows SET context = :context, context_length = :context_length WHERE row_id = :row_id;

-- name: put_search_text
INSERT INTO search_fts (row_id, terms, context) VALUES (:row_id, search_words(:terms), search_words(:context))
ON CONFLICT (row_id) DO UPDATE SET terms = excluded.terms, context = excluded.context;

-- name: drop_search_text
DELETE FROM search_fts WHERE row_id = :row_id;

-- name: drop_search_rows
DELETE FROM search_rows
WHERE owner_id = :owner_id AND layer = :layer AND ref_id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:refs AS JSON))))
RETURNING row_id, session_ref, seq;

-- name: clear_search_rows
DELETE FROM search_rows;

-- name: clear_search_text
DELETE FROM search_fts;

-- name: search_new_rows
SELECT nextval(pg_get_serial_sequence('search_rows', 'row_id')) AS row_id FROM generate_series(1, :count);

-- name: compact_search_text
SELECT 1 AS nothing_to_do;
