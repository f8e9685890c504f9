-- name: integrity
PRAGMA quick_check(20);
