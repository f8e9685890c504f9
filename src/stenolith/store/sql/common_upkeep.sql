-- name: records_without_row
SELECT r.record_id AS id FROM l0_conversations r
LEFT JOIN search_rows s ON s.layer = 'record' AND s.ref_id = r.record_id
WHERE s.ref_id IS NULL ORDER BY r.record_id LIMIT :limit;

-- name: atoms_without_row
SELECT a.atom_id AS id FROM atoms a
LEFT JOIN search_rows s ON s.layer = 'atom' AND s.ref_id = a.atom_id
WHERE s.ref_id IS NULL AND a.status = 'active' ORDER BY a.atom_id LIMIT :limit;

-- name: rows_without_source
SELECT s.layer || ' ' || s.ref_id AS id FROM search_rows s
LEFT JOIN l0_conversations r ON s.layer = 'record' AND r.record_id = s.ref_id
LEFT JOIN atoms a ON s.layer = 'atom' AND a.atom_id = s.ref_id
LEFT JOIN scenes c ON s.layer = 'scene' AND c.scene_id = s.ref_id
WHERE r.record_id IS NULL AND a.atom_id IS NULL AND c.scene_id IS NULL ORDER BY s.row_id LIMIT :limit;

-- name: records_without_message
SELECT r.record_id AS id FROM l0_conversations r
LEFT JOIN messages m ON m.message_id = r.message_id
WHERE m.message_id IS NULL ORDER BY r.record_id LIMIT :limit;

-- name: atoms_without_evidence
SELECT a.atom_id AS id FROM atoms a
WHERE a.status = 'active' AND NOT EXISTS (
  SELECT 1 FROM atom_sources s JOIN l0_conversations r ON r.record_id = s.record_id WHERE s.atom_id = a.atom_id
)
ORDER BY a.atom_id LIMIT :limit;

-- name: gaps_in_sessions
SELECT s.session_key || ' / ' || s.session_id AS id FROM sessions s
WHERE s.head_seq <> (SELECT COUNT(*) FROM messages m WHERE m.session_ref = s.session_ref)
ORDER BY s.session_ref LIMIT :limit;

-- name: owner_totals
SELECT
  (SELECT COUNT(*) FROM sessions WHERE owner_id = :owner_id) AS sessions,
  (SELECT COUNT(*) FROM messages m JOIN sessions s ON s.session_ref = m.session_ref WHERE s.owner_id = :owner_id) AS messages,
  (SELECT COUNT(*) FROM l0_conversations WHERE owner_id = :owner_id) AS records,
  (SELECT COUNT(*) FROM scenes WHERE owner_id = :owner_id AND archived = 0) AS scenes,
  (SELECT COUNT(*) FROM persona_lines WHERE owner_id = :owner_id AND status = 'standing') AS persona_lines,
  (SELECT COUNT(*) FROM vectors WHERE owner_id = :owner_id) AS vectors;


-- name: fingerprint
SELECT
  (SELECT COUNT(*) FROM atoms WHERE owner_id = :owner_id) AS atoms,
  (SELECT COALESCE(MAX(updated_at), 0) FROM atoms WHERE owner_id = :owner_id) AS latest,
  (SELECT COALESCE(SUM(version), 0) FROM atoms WHERE owner_id = :owner_id) AS versions,
  (SELECT COUNT(*) FROM scenes WHERE owner_id = :owner_id) AS scenes,
  (SELECT COALESCE(SUM(version), 0) FROM scenes WHERE owner_id = :owner_id) AS scene_versions,
  (SELECT COUNT(*) FROM scenes WHERE owner_id = :owner_id AND redirect_to IS NOT NULL) AS merged;
