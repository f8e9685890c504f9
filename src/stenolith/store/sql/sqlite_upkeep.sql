-- name: integrity
PRAGMA quick_check(20);

-- name: empty_log
PRAGMA wal_checkpoint(TRUNCATE);
