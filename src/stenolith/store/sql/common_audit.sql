-- name: insert_audit
INSERT INTO audit (audit_id, at, owner_id, actor, action, target, detail)
VALUES (:audit_id, :at, :owner_id, :actor, :action, :target, :detail);

-- name: page_audit
SELECT * FROM audit WHERE owner_id = :owner_id AND at >= :since AND audit_id > :after ORDER BY audit_id LIMIT :limit;

-- name: page_audit_of_home
SELECT * FROM audit WHERE at >= :since AND audit_id > :after ORDER BY audit_id LIMIT :limit;

-- name: insert_tombstone
INSERT INTO tombstones (layer, owner_id, hash, actor, deleted_at)
VALUES (:layer, :owner_id, :hash, :actor, :deleted_at)
ON CONFLICT (layer, owner_id, hash) DO NOTHING;

-- name: find_tombstone
SELECT hash FROM tombstones WHERE layer = :layer AND owner_id = :owner_id AND hash = :hash;

-- name: delete_tombstone
DELETE FROM tombstones WHERE layer = :layer AND owner_id = :owner_id AND hash = :hash RETURNING hash;

-- name: list_tombstones
SELECT layer, hash, actor, deleted_at FROM tombstones WHERE owner_id = :owner_id ORDER BY layer, hash;

-- name: get_meta
SELECT value FROM meta WHERE name = :name;

-- name: insert_meta
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = meta.value
RETURNING value;
