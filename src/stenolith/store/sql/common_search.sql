-- name: search_has_past
SELECT 1 AS found FROM atoms WHERE owner_id = :owner_id AND status = 'superseded' LIMIT 1;
