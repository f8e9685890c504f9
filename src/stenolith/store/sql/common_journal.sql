-- name: unjournaled_days
SELECT journal_day, COUNT(*) AS n FROM l0_conversations WHERE journaled = 0 GROUP BY journal_day ORDER BY journal_day;

-- name: unjournaled_owners
SELECT owner_id, COUNT(*) AS n FROM l0_conversations WHERE journaled = 0 GROUP BY owner_id ORDER BY owner_id;

-- name: unjournaled_lines
SELECT session_key, session_id, team_id, user_id, agent_id, recorded_at, record_id, role, message_text, timestamp, journaled
FROM l0_conversations WHERE journaled = 0 AND journal_day = :day ORDER BY record_id LIMIT :limit;

-- name: lines_of_day
SELECT session_key, session_id, team_id, user_id, agent_id, recorded_at, record_id, role, message_text, timestamp, journaled
FROM l0_conversations WHERE journal_day = :day AND record_id > :after ORDER BY record_id LIMIT :limit;

-- name: journal_days
SELECT DISTINCT journal_day FROM l0_conversations ORDER BY journal_day;
