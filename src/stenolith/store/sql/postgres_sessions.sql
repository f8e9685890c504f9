-- name: records_by_id
SELECT * FROM l0_conversations
WHERE +owner_id = :owner_id AND record_id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON))));

-- name: record_beginnings
SELECT record_id, session_key, session_id, team_id, user_id, agent_id, task_id, role,
  substr(message_text, 1, CAST(:chars AS INTEGER)) AS message_text, recorded_at, timestamp, owner_id, session_ref, seq, message_id, speaker,
  timestamp_source, distillable, journal_day
FROM l0_conversations
WHERE +owner_id = :owner_id AND record_id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON))));

-- name: delete_records
DELETE FROM l0_conversations
WHERE +owner_id = :owner_id AND record_id = ANY (ARRAY(SELECT json_array_elements_text(CAST(:ids AS JSON))))
RETURNING record_id;
