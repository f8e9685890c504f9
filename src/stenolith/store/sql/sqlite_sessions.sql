-- name: records_by_id
SELECT * FROM l0_conversations
WHERE owner_id = :owner_id AND record_id IN (SELECT value FROM json_each(:ids));

-- name: delete_records
DELETE FROM l0_conversations WHERE owner_id = :owner_id AND record_id IN (SELECT value FROM json_each(:ids))
RETURNING record_id;
