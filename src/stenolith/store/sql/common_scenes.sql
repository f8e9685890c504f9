-- name: insert_scene
INSERT INTO scenes (scene_id, owner_id, name, title, summary, terms, lines, version, created_at, updated_at)
VALUES (:scene_id, :owner_id, :name, :title, :summary, :terms, :lines, 1, :now, :now);

-- name: update_scene
UPDATE scenes SET
  name = :name, title = :title, summary = :summary, terms = :terms, lines = :lines, version = version + 1,
  archived = :archived, redirect_to = :redirect_to, stale = :stale, updated_at = :now
WHERE owner_id = :owner_id AND scene_id = :scene_id
RETURNING *;

-- name: insert_scene_version
INSERT INTO scene_versions (scene_id, version, body, author, recorded_at)
VALUES (:scene_id, :version, :body, :author, :now);

-- name: freshen_scene
UPDATE scenes SET stale = 0 WHERE owner_id = :owner_id AND scene_id = :scene_id RETURNING scene_id;

-- name: get_scene
SELECT * FROM scenes WHERE owner_id = :owner_id AND scene_id = :scene_id;

-- name: find_scene
SELECT * FROM scenes WHERE owner_id = :owner_id AND name = :name;

-- name: page_scenes
SELECT * FROM scenes WHERE owner_id = :owner_id AND archived = :archived AND redirect_to IS NULL
ORDER BY updated_at DESC, scene_id DESC LIMIT :limit OFFSET :skip;

-- name: every_scene
SELECT * FROM scenes WHERE owner_id = :owner_id ORDER BY scene_id;

-- name: stale_scenes
SELECT * FROM scenes WHERE owner_id = :owner_id AND stale = 1 AND archived = 0 ORDER BY updated_at, scene_id;

-- name: archive_scene
UPDATE scenes SET archived = :archived, redirect_to = :redirect_to, updated_at = :now
WHERE owner_id = :owner_id AND scene_id = :scene_id
RETURNING scene_id;

-- name: lead_on_scenes
UPDATE scenes SET redirect_to = :into_id WHERE owner_id = :owner_id AND redirect_to = :scene_id;

-- name: mark_scene_stale
UPDATE scenes SET stale = 1 WHERE owner_id = :owner_id AND lines LIKE :cited ESCAPE '!' RETURNING scene_id;

-- name: scene_versions
SELECT v.scene_id, v.version, v.body, v.author, v.recorded_at
FROM scene_versions AS v JOIN scenes AS s ON s.scene_id = v.scene_id
WHERE s.owner_id = :owner_id AND v.scene_id = :scene_id ORDER BY v.version;

-- name: scene_authors
SELECT DISTINCT v.scene_id, v.author
FROM scene_versions AS v JOIN scenes AS s ON s.scene_id = v.scene_id WHERE s.owner_id = :owner_id;

-- name: rewrite_scene_version
UPDATE scene_versions SET body = :body
WHERE version = :version AND scene_id IN (SELECT scene_id FROM scenes WHERE owner_id = :owner_id AND scene_id = :scene_id);

-- name: restore_scene
INSERT INTO scenes
  (scene_id, owner_id, name, title, summary, terms, lines, version, archived, redirect_to, stale, created_at, updated_at)
VALUES
  (:scene_id, :owner_id, :name, :title, :summary, :terms, :lines, :version, :archived, :redirect_to, :stale, :created_at,
   :updated_at)
ON CONFLICT DO NOTHING
RETURNING scene_id;

-- name: delete_scene
DELETE FROM scenes WHERE owner_id = :owner_id AND scene_id = :scene_id RETURNING scene_id;

-- name: persona_lines
SELECT * FROM persona_lines WHERE owner_id = :owner_id ORDER BY recorded_at, line_id;

-- name: insert_persona_line
INSERT INTO persona_lines
  (line_id, owner_id, section, text, atoms, status, missing, version, recorded_at, updated_at)
VALUES
  (:line_id, :owner_id, :section, :text, :atoms, :status, :missing, :version, :recorded_at, :updated_at);

-- name: update_persona_line
UPDATE persona_lines SET
  section = :section, text = :text, atoms = :atoms, status = :status, missing = :missing, version = version + 1,
  updated_at = :updated_at
WHERE owner_id = :owner_id AND line_id = :line_id;

-- name: delete_persona_line
DELETE FROM persona_lines WHERE owner_id = :owner_id AND line_id = :line_id;

-- name: persona_versions
SELECT version, body, recorded_at FROM persona_versions WHERE owner_id = :owner_id ORDER BY version;

-- name: last_persona_version
SELECT version, recorded_at FROM persona_versions WHERE owner_id = :owner_id ORDER BY version DESC LIMIT 1;

-- name: insert_persona_version
INSERT INTO persona_versions (owner_id, version, body, recorded_at)
VALUES (:owner_id, :version, :body, :now)
ON CONFLICT (owner_id, version) DO UPDATE SET body = excluded.body;
