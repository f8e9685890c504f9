-- name: records_by_id
SELECT * FROM l0_conversations
WHERE owner_id = :owner_id AND record_id IN (SELECT value FROM json_each(:ids));

-- name: record_beginnings
SELECT record_id, session_key, session_id, team_id, user_id, agent_id, task_id, role,
  substr(message_text, 1, :chars) AS message_text, recorded_at, timestamp, owner_id, session_ref, seq, message_id, speaker,
  timestamp_source, distillable, journal_day
FROM l0_conversations
WHERE owner_id = :owner_id AND record_id IN (SELECT value FROM json_each(:ids));

-- name: delete_records
DELETE FROM l0_conversations WHERE owner_id = :owner_id AND record_id IN (SELECT value FROM json_each(:ids))
RETURNING record_id;
