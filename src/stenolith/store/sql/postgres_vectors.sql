-- name: vectors_by_ref
SELECT v.ref_id, v.vector, s.session_ref, s.seq, s.speaker
FROM vectors v LEFT JOIN search_rows s ON s.layer = v.layer AND s.ref_id = v.ref_id
WHERE v.layer = :layer AND v.ref_id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:refs AS JSON))))
  AND +v.owner_id = :owner_id AND v.model_id = :model_id
ORDER BY v.ref_id;

-- name: drop_vectors
DELETE FROM vectors
WHERE +owner_id = :owner_id AND layer = :layer AND ref_id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:refs AS JSON))))
RETURNING ref_id;

-- Large shelves (store/postgres_nearest.py).
-- name: shelf_size
SELECT COUNT(*) AS n FROM vectors WHERE owner_id = :owner_id AND layer = :layer AND model_id = :model_id;

-- name: nearest_vectors
SELECT found AS ref_id FROM nearest_vectors(:owner_id, :layer, :model_id, :query, :wanted);

-- name: every_nth_vector
SELECT ref_id FROM (
  SELECT ref_id, row_number() OVER (ORDER BY ref_id) AS place FROM vectors
  WHERE owner_id = :owner_id AND layer = :layer AND model_id = :model_id
) AS shelf WHERE place % :step = 0 ORDER BY ref_id;

-- Rows with up to two neighbours on each side of their session.
-- name: vectors_around
WITH named AS MATERIALIZED (
  SELECT DISTINCT ref_id FROM json_array_elements_text(CAST(:refs AS JSON)) AS given (ref_id)
), wanted AS MATERIALIZED (
  SELECT ref_id FROM named
  UNION
  SELECT beside.ref_id FROM named
  JOIN search_rows s ON s.layer = :layer AND s.ref_id = named.ref_id AND s.session_ref IS NOT NULL
  CROSS JOIN LATERAL (
    (SELECT b.ref_id FROM search_rows b WHERE b.session_ref = s.session_ref AND b.seq < s.seq ORDER BY b.seq DESC LIMIT 2)
    UNION ALL
    (SELECT b.ref_id FROM search_rows b WHERE b.session_ref = s.session_ref AND b.seq > s.seq ORDER BY b.seq LIMIT 2)
  ) AS beside
)
SELECT v.ref_id, v.vector, s.session_ref, s.seq, s.speaker
FROM wanted JOIN vectors v ON v.layer = :layer AND v.ref_id = wanted.ref_id
LEFT JOIN search_rows s ON s.layer = v.layer AND s.ref_id = v.ref_id
WHERE +v.owner_id = :owner_id AND v.model_id = :model_id
ORDER BY v.ref_id;

-- name: large_dimensions
SELECT DISTINCT v.dim FROM vector_means m
CROSS JOIN LATERAL (
  SELECT dim, COUNT(*) AS n FROM vectors
  WHERE owner_id = m.owner_id AND layer = m.layer AND model_id = m.model_id GROUP BY dim
) AS v
WHERE m.n > :rows AND v.n > :rows;

-- name: vector_index_state
SELECT i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relname = :name AND c.relnamespace = CAST(current_schema() AS REGNAMESPACE);
