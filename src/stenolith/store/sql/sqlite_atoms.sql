-- Statements over a list of ids: the dialects unfold a JSON list differently.
-- name: atoms_by_id
SELECT * FROM atoms WHERE owner_id = :owner_id AND atom_id IN (SELECT value FROM json_each(:ids));

-- name: doubts_of_atoms
SELECT atom_id, needs_review FROM atoms
WHERE owner_id = :owner_id AND needs_review <> '' AND atom_id IN (SELECT value FROM json_each(:ids));

-- name: sources_of_atoms
SELECT atom_id, record_id, quote, timestamp FROM atom_sources WHERE atom_id IN (SELECT value FROM json_each(:ids));

-- name: atoms_by_record
SELECT * FROM atoms
WHERE owner_id = :owner_id AND atom_id IN (
  SELECT atom_id FROM atom_sources WHERE record_id IN (SELECT value FROM json_each(:ids))
)
ORDER BY recorded_at, atom_id;

-- name: delete_evidence
DELETE FROM atom_sources
WHERE record_id IN (SELECT value FROM json_each(:ids))
  AND EXISTS (SELECT 1 FROM atoms WHERE atoms.atom_id = atom_sources.atom_id AND atoms.owner_id = :owner_id)
RETURNING atom_id;

-- name: superseded_by_atoms
SELECT * FROM atoms
WHERE +owner_id = :owner_id AND status = 'superseded' AND superseded_by IN (SELECT value FROM json_each(:ids))
ORDER BY recorded_at, atom_id;

-- name: delete_atoms
DELETE FROM atoms WHERE owner_id = :owner_id AND atom_id IN (SELECT value FROM json_each(:ids))
RETURNING atom_id, normal_form, scene_id;
