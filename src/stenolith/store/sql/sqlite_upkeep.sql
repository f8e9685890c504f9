-- name: integrity
PRAGMA quick_check(20);

-- name: empty_log
PRAGMA wal_checkpoint(TRUNCATE);

-- name: look_at_text
SELECT COUNT(*) AS n FROM search_fts;
