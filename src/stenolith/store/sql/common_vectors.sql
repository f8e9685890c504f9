-- Vectors (store/vectors.py): blobs beside their rows; vector_means.n counts every change, so a cache sees it is old.
-- name: put_vector
INSERT INTO vectors (layer, ref_id, owner_id, model_id, dim, vector)
VALUES (:layer, :ref_id, :owner_id, :model_id, :dim, :vector)
ON CONFLICT (layer, ref_id) DO UPDATE SET
  owner_id = excluded.owner_id, model_id = excluded.model_id, dim = excluded.dim, vector = excluded.vector;

-- name: page_vectors
SELECT v.ref_id, v.vector, s.session_ref, s.seq, s.speaker
FROM vectors v LEFT JOIN search_rows s ON s.layer = v.layer AND s.ref_id = v.ref_id
WHERE v.owner_id = :owner_id AND v.layer = :layer AND v.model_id = :model_id AND v.ref_id > :after
ORDER BY v.ref_id LIMIT :limit;

-- name: vector_refs
SELECT ref_id FROM vectors WHERE owner_id = :owner_id AND layer = :layer AND model_id = :model_id ORDER BY ref_id;

-- name: missing_vectors
SELECT s.ref_id FROM search_rows s
WHERE s.owner_id = :owner_id AND s.layer = :layer AND NOT EXISTS (
  SELECT 1 FROM vectors v WHERE v.layer = s.layer AND v.ref_id = s.ref_id AND v.model_id = :model_id)
ORDER BY s.row_id LIMIT :limit;

-- name: vector_mean
SELECT n, sum, mean FROM vector_means WHERE owner_id = :owner_id AND layer = :layer AND model_id = :model_id;

-- name: put_vector_mean
INSERT INTO vector_means (owner_id, layer, model_id, n, sum, mean)
VALUES (:owner_id, :layer, :model_id, :n, :sum, :mean)
ON CONFLICT (owner_id, layer, model_id) DO UPDATE SET n = excluded.n, sum = excluded.sum, mean = excluded.mean;

-- name: vectors_changed
UPDATE vector_means SET n = n + 1 WHERE owner_id = :owner_id AND layer = :layer;

-- name: vector_models
SELECT model_id, COUNT(*) AS n FROM vectors WHERE layer <> 'anchor' GROUP BY model_id ORDER BY 2 DESC, 1;

-- name: shelves_behind
SELECT DISTINCT s.owner_id, s.layer FROM search_rows s WHERE NOT EXISTS (
  SELECT 1 FROM vectors v
  WHERE v.layer = s.layer AND v.ref_id = s.ref_id AND v.model_id = :model_id AND (:dim = 0 OR v.dim = :dim))
ORDER BY s.owner_id, s.layer;

-- What is no longer of use stays until it is replaced, under another name: it tells that the shelf is not whole.
-- name: put_shelf_aside
UPDATE vectors SET model_id = model_id || ' of ' || CAST(dim AS TEXT) || ' numbers'
WHERE owner_id = :owner_id AND layer = :layer AND model_id = :model_id;

-- name: shelf_state
SELECT (
  SELECT COUNT(*) FROM vector_means WHERE owner_id = :owner_id AND layer = :layer AND model_id = :model_id
) AS held, COALESCE(
  (SELECT MIN(model_id) FROM vectors WHERE owner_id = :owner_id AND layer = :layer AND model_id < :model_id),
  (SELECT MIN(model_id) FROM vectors WHERE owner_id = :owner_id AND layer = :layer AND model_id > :model_id), ''
) AS other;

-- name: clear_vectors
DELETE FROM vectors;

-- name: clear_vector_means
DELETE FROM vector_means;
