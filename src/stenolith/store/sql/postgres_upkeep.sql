-- name: integrity
SELECT COALESCE(string_agg('index ' || c.relname || ' is not valid', '; ' ORDER BY c.relname), 'ok') AS said
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE NOT i.indisvalid;

-- The server recycles its own log.
-- name: empty_log
SELECT 1 AS done;

-- name: look_at_text
SELECT COUNT(*) AS n FROM search_fts;
