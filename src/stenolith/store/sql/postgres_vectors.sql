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
