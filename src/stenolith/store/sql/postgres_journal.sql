-- name: still_unjournaled
SELECT record_id FROM l0_conversations
WHERE journaled = 0 AND record_id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON))));

-- name: mark_journaled
UPDATE l0_conversations SET journaled = 1
WHERE journaled = 0 AND record_id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON))));
