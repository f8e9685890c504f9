-- name: insert_atom
INSERT INTO atoms
  (atom_id, owner_id, kind, text, normal_form, priority, subject, attribute, speaker, role, session_key, session_id,
   caller_key, status, version, root_id, supersedes, superseded_by, reason, recorded_at, valid_from, valid_until,
   occurred_start, occurred_end, expires_at, needs_review, task_only, scene_id, origin, provenance, updated_at)
VALUES
  (:atom_id, :owner_id, :kind, :text, :normal_form, :priority, :subject, :attribute, :speaker, :role, :session_key,
   :session_id, :caller_key, :status, :version, :root_id, :supersedes, :superseded_by, :reason, :recorded_at,
   :valid_from, :valid_until, :occurred_start, :occurred_end, :expires_at, :needs_review, :task_only, :scene_id,
   :origin, :provenance, :updated_at)
ON CONFLICT (atom_id) DO NOTHING
RETURNING atom_id;

-- name: insert_atom_source
INSERT INTO atom_sources (atom_id, record_id, quote, timestamp)
VALUES (:atom_id, :record_id, :quote, :timestamp)
ON CONFLICT (atom_id, record_id) DO NOTHING;

-- name: touch_atom
UPDATE atoms SET updated_at = :now WHERE owner_id = :owner_id AND atom_id = :atom_id RETURNING *;

-- name: retire_atom
UPDATE atoms SET
  status = :status, superseded_by = :superseded_by, reason = :reason, updated_at = :now,
  valid_until = CASE WHEN :valid_until > valid_from THEN :valid_until ELSE valid_from END
WHERE owner_id = :owner_id AND atom_id = :atom_id AND status = 'active'
RETURNING *;

-- name: revive_atom
UPDATE atoms SET
  status = 'active', superseded_by = NULL, reason = '', valid_until = NULL, updated_at = :now,
  caller_key = CASE
    WHEN EXISTS (
      SELECT 1 FROM atoms AS other
      WHERE other.owner_id = atoms.owner_id AND other.caller_key = atoms.caller_key AND other.status = 'active'
    ) THEN NULL ELSE caller_key END
WHERE owner_id = :owner_id AND atom_id = :atom_id AND status IN ('superseded', 'withdrawn')
RETURNING *;

-- name: set_caller_key
UPDATE atoms SET caller_key = :caller_key WHERE owner_id = :owner_id AND atom_id = :atom_id RETURNING atom_id;

-- name: atom_of_caller_key
SELECT * FROM atoms WHERE owner_id = :owner_id AND caller_key = :caller_key AND status = 'active';

-- name: flag_atom
UPDATE atoms SET needs_review = :needs_review, updated_at = :now
WHERE owner_id = :owner_id AND atom_id = :atom_id
RETURNING atom_id;

-- name: flagged_atoms
SELECT * FROM atoms WHERE owner_id = :owner_id AND status = 'active' AND needs_review <> ''
ORDER BY recorded_at, atom_id LIMIT :limit;

-- name: set_atom_scene
UPDATE atoms SET scene_id = :scene_id WHERE owner_id = :owner_id AND atom_id = :atom_id RETURNING atom_id;

-- name: atoms_of_scene
SELECT * FROM atoms
WHERE owner_id = :owner_id AND scene_id = :scene_id AND status = 'active' AND (expires_at IS NULL OR expires_at > :now)
ORDER BY recorded_at, atom_id;

-- name: atoms_without_scene
SELECT * FROM atoms
WHERE owner_id = :owner_id AND status = 'active' AND scene_id IS NULL AND (expires_at IS NULL OR expires_at > :now)
ORDER BY recorded_at, atom_id LIMIT :limit;

-- name: atoms_by_normal_form
SELECT * FROM atoms
WHERE owner_id = :owner_id AND normal_form = :normal_form AND status = 'active'
  AND (expires_at IS NULL OR expires_at > :now)
ORDER BY recorded_at, atom_id;

-- name: atoms_by_attribute
SELECT * FROM atoms
WHERE owner_id = :owner_id AND subject = :subject AND attribute = :attribute AND attribute <> '' AND status = 'active'
  AND (expires_at IS NULL OR expires_at > :now)
ORDER BY recorded_at, atom_id;

-- name: page_atoms
SELECT * FROM atoms
WHERE owner_id = :owner_id AND status = :status AND (:kind = '' OR kind = :kind)
  AND (status <> 'active' OR expires_at IS NULL OR expires_at > :now)
  AND (recorded_at < :before_at OR (recorded_at = :before_at AND atom_id < :before_id))
ORDER BY recorded_at DESC, atom_id DESC LIMIT :limit;

-- name: export_atoms
SELECT * FROM atoms WHERE owner_id = :owner_id AND atom_id > :after ORDER BY atom_id LIMIT :limit;

-- name: standing_instructions
SELECT * FROM atoms
WHERE owner_id = :owner_id AND kind = 'instruction' AND status = 'active' AND task_only = 0
  AND (expires_at IS NULL OR expires_at > :now)
ORDER BY priority DESC, recorded_at, atom_id LIMIT :limit;

-- name: atoms_as_of
SELECT * FROM atoms
WHERE owner_id = :owner_id AND status <> 'withdrawn' AND valid_from <= :at
  AND (valid_until IS NULL OR valid_until > :at) AND (expires_at IS NULL OR expires_at > :at)
ORDER BY valid_from DESC, atom_id DESC LIMIT :limit;

-- A plus before a column keeps the planner from walking all rows of the owner instead of the few of the lineage.
-- name: lineage_of_atom
WITH RECURSIVE lineage (root_id) AS (
  SELECT root_id FROM atoms WHERE owner_id = :owner_id AND atom_id = :atom_id
  UNION
  SELECT near.root_id
  FROM lineage
  JOIN atoms AS mine ON mine.root_id = lineage.root_id AND +mine.owner_id = :owner_id
  JOIN atoms AS near ON +near.owner_id = :owner_id AND (near.atom_id = mine.superseded_by OR near.superseded_by = mine.atom_id)
)
SELECT atoms.* FROM lineage CROSS JOIN atoms
WHERE atoms.root_id = lineage.root_id AND +atoms.owner_id = :owner_id
ORDER BY atoms.valid_from, atoms.version, atoms.atom_id;

-- name: due_atoms
SELECT owner_id, atom_id, expires_at FROM atoms
WHERE status = 'active' AND expires_at IS NOT NULL AND expires_at <= :now
ORDER BY expires_at, atom_id LIMIT :limit;

-- name: ids_of_session
SELECT atom_id FROM atoms WHERE owner_id = :owner_id AND session_key = :session_key ORDER BY atom_id;

-- name: count_atoms
SELECT kind, status, COUNT(*) AS n FROM atoms WHERE owner_id = :owner_id GROUP BY kind, status ORDER BY kind, status;
