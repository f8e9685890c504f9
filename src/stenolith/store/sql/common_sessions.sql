-- name: intern_owner
INSERT INTO owners (team_id, user_id, agent_id) VALUES (:team, :user, :agent)
ON CONFLICT (team_id, user_id, agent_id) DO UPDATE SET team_id = excluded.team_id
RETURNING owner_id;

-- name: find_owner
SELECT owner_id FROM owners WHERE team_id = :team AND user_id = :user AND agent_id = :agent;

-- name: get_owner
SELECT team_id, user_id, agent_id FROM owners WHERE owner_id = :owner_id;

-- name: list_owners
SELECT owner_id, team_id, user_id, agent_id FROM owners ORDER BY owner_id;

-- name: open_session
INSERT INTO sessions (owner_id, session_key, session_id, task_id, created_at, updated_at)
VALUES (:owner_id, :session_key, :session_id, :task_id, :now, :now)
ON CONFLICT (owner_id, session_key, session_id) DO UPDATE SET updated_at = sessions.updated_at
RETURNING session_ref, owner_id, session_key, session_id, task_id, head_seq, clock, created_at, updated_at;

-- name: restore_session
INSERT INTO sessions (owner_id, session_key, session_id, task_id, head_seq, clock, created_at, updated_at)
VALUES (:owner_id, :session_key, :session_id, :task_id, :head_seq, :clock, :created_at, :updated_at)
ON CONFLICT (owner_id, session_key, session_id) DO NOTHING
RETURNING session_ref;

-- name: find_session
SELECT session_ref, owner_id, session_key, session_id, task_id, head_seq, clock, created_at, updated_at
FROM sessions WHERE owner_id = :owner_id AND session_key = :session_key AND session_id = :session_id;

-- name: sessions_of_key
SELECT session_ref, owner_id, session_key, session_id, task_id, head_seq, clock, created_at, updated_at
FROM sessions WHERE owner_id = :owner_id AND session_key = :session_key ORDER BY created_at, session_ref;

-- name: get_session
SELECT session_ref, owner_id, session_key, session_id, task_id, head_seq, clock, created_at, updated_at
FROM sessions WHERE session_ref = :session_ref AND owner_id = :owner_id;

-- name: page_sessions
SELECT session_ref, owner_id, session_key, session_id, task_id, head_seq, clock, created_at, updated_at
FROM sessions WHERE owner_id = :owner_id AND session_ref > :after ORDER BY session_ref LIMIT :limit;

-- name: advance_session
UPDATE sessions SET head_seq = :head_seq, clock = :clock, updated_at = :now
WHERE session_ref = :session_ref AND head_seq = :expected_seq
RETURNING session_ref;

-- name: insert_turn
INSERT INTO turns (turn_id, session_ref, state, first_seq, last_seq, opened_at, closed_at, error)
VALUES (:turn_id, :session_ref, :state, :first_seq, :last_seq, :opened_at, :closed_at, :error);

-- name: get_turn
SELECT t.turn_id, t.session_ref, t.state, t.first_seq, t.last_seq, t.opened_at, t.closed_at, t.error
FROM turns t JOIN sessions s ON s.session_ref = t.session_ref
WHERE t.turn_id = :turn_id AND s.owner_id = :owner_id;

-- name: extend_turn
UPDATE turns SET last_seq = :last_seq WHERE turn_id = :turn_id AND state = 'open' RETURNING turn_id;

-- name: close_turn
UPDATE turns SET state = :state, closed_at = :now, error = :error
WHERE turn_id = :turn_id AND state = 'open'
RETURNING turn_id;

-- name: open_turns
SELECT t.turn_id, t.session_ref, t.first_seq, t.last_seq, t.opened_at, s.owner_id
FROM turns t JOIN sessions s ON s.session_ref = t.session_ref
WHERE t.state = 'open' AND t.opened_at <= :before ORDER BY t.opened_at;

-- name: session_turns
SELECT turn_id, state, first_seq, last_seq, opened_at, closed_at, error
FROM turns WHERE session_ref = :session_ref ORDER BY first_seq, turn_id;

-- name: insert_message
INSERT INTO messages
  (message_id, session_ref, seq, turn_id, role, host_id, digest, timestamp, recorded_at, status, body)
VALUES
  (:message_id, :session_ref, :seq, :turn_id, :role, :host_id, :digest, :timestamp, :recorded_at, :status, :body);

-- name: set_message_status
UPDATE messages SET status = :status
WHERE turn_id = :turn_id AND status = 'partial'
  AND session_ref = (SELECT session_ref FROM turns WHERE turns.turn_id = :turn_id);

-- name: message_tail
SELECT seq, digest, timestamp, host_id FROM messages
WHERE session_ref = :session_ref ORDER BY seq DESC LIMIT :limit;

-- name: session_messages
SELECT message_id, seq, turn_id, timestamp, recorded_at, status, body FROM messages
WHERE session_ref = :session_ref AND seq > :after ORDER BY seq LIMIT :limit;

-- name: get_message
SELECT m.message_id, m.seq, m.turn_id, m.timestamp, m.recorded_at, m.status, m.body, s.session_key, s.session_id
FROM messages m JOIN sessions s ON s.session_ref = m.session_ref
WHERE m.message_id = :message_id AND s.owner_id = :owner_id;

-- name: blank_message
UPDATE messages SET body = :body, digest = :digest
WHERE message_id = :message_id AND session_ref IN (SELECT session_ref FROM sessions WHERE owner_id = :owner_id)
RETURNING message_id;

-- name: insert_mark
INSERT INTO session_marks (mark_id, session_ref, kind, first_kept_seq, body, created_at)
VALUES (:mark_id, :session_ref, :kind, :first_kept_seq, :body, :now);

-- name: session_marks
SELECT mark_id, kind, first_kept_seq, body, created_at FROM session_marks
WHERE session_ref = :session_ref ORDER BY created_at, mark_id;

-- name: delete_session
DELETE FROM sessions WHERE session_ref = :session_ref AND owner_id = :owner_id RETURNING session_ref;

-- name: insert_record
INSERT INTO l0_conversations
  (record_id, session_key, session_id, team_id, task_id, user_id, agent_id, role, message_text, recorded_at, timestamp,
   owner_id, session_ref, seq, message_id, speaker, timestamp_source, distillable, journal_day)
VALUES
  (:record_id, :session_key, :session_id, :team_id, :task_id, :user_id, :agent_id, :role, :message_text, :recorded_at,
   :timestamp, :owner_id, :session_ref, :seq, :message_id, :speaker, :timestamp_source, :distillable, :journal_day);

-- name: records_of_session
SELECT * FROM l0_conversations WHERE session_ref = :session_ref AND seq > :after ORDER BY seq LIMIT :limit;

-- name: records_before
SELECT * FROM l0_conversations WHERE session_ref = :session_ref AND seq <= :seq ORDER BY seq DESC LIMIT :limit;

-- name: page_records
SELECT * FROM l0_conversations WHERE owner_id = :owner_id AND record_id > :after ORDER BY record_id LIMIT :limit;

-- name: page_session_records
SELECT * FROM l0_conversations
WHERE owner_id = :owner_id AND session_key = :session_key AND record_id > :after ORDER BY record_id LIMIT :limit;

-- name: all_records
SELECT * FROM l0_conversations WHERE record_id > :after ORDER BY record_id LIMIT :limit;

-- name: delete_session_records
DELETE FROM l0_conversations WHERE session_ref = :session_ref RETURNING record_id, journal_day;

-- name: count_records
SELECT COUNT(*) AS n FROM l0_conversations WHERE owner_id = :owner_id;
