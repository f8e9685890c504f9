-- name: records_by_id
SELECT * FROM l0_conversations
WHERE +owner_id = :owner_id AND record_id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON))));

-- name: delete_records
DELETE FROM l0_conversations
WHERE +owner_id = :owner_id AND record_id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON))))
RETURNING record_id;
