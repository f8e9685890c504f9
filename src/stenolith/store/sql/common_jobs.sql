-- name: enqueue_job
INSERT INTO jobs (job_id, kind, key, owner_id, payload, priority, run_after, created_at, updated_at)
VALUES (:job_id, :kind, :key, :owner_id, :payload, :priority, :run_after, :now, :now)
ON CONFLICT (kind, owner_id, key) WHERE state = 'pending' DO UPDATE SET
  run_after = CASE WHEN :hurry = 1 AND excluded.run_after < jobs.run_after THEN excluded.run_after ELSE jobs.run_after END,
  priority = CASE WHEN excluded.priority > jobs.priority THEN excluded.priority ELSE jobs.priority END,
  updated_at = excluded.updated_at
RETURNING job_id;

-- name: steal_jobs
UPDATE jobs SET lease_owner = :lease, lease_until = :lease_until, attempts = attempts + 1, error = :error, updated_at = :now
WHERE job_id IN (
  SELECT job_id FROM jobs WHERE state = 'running' AND kind = :kind AND lease_until <= :now
    AND (:only_owner = 0 OR (owner_id = :only_owner AND key = :only_key))
  ORDER BY priority DESC, run_after, job_id LIMIT :limit
)
RETURNING *;

-- name: claim_jobs
UPDATE jobs SET state = 'running', lease_owner = :lease, lease_until = :lease_until, attempts = attempts + 1, updated_at = :now
WHERE job_id IN (
  SELECT waiting.job_id FROM jobs AS waiting
  WHERE waiting.state = 'pending' AND waiting.kind = :kind
    AND (waiting.run_after <= :now OR (:eager = 1 AND waiting.attempts = 0 AND waiting.error = ''))
    AND (:only_owner = 0 OR (waiting.owner_id = :only_owner AND waiting.key = :only_key))
    AND NOT EXISTS (
      SELECT 1 FROM jobs AS busy
      WHERE busy.state = 'running' AND busy.kind = waiting.kind AND busy.owner_id = waiting.owner_id AND busy.key = waiting.key
    )
  ORDER BY waiting.priority DESC, waiting.run_after, waiting.job_id LIMIT :limit
)
RETURNING *;

-- A heartbeat that was held up on its way does not shorten what a later one gave; a clock that ran ahead is corrected.
-- name: beat_job
UPDATE jobs SET lease_until = CASE WHEN lease_until > :lease_until AND lease_until <= :longest THEN lease_until ELSE :lease_until END
WHERE job_id = :job_id AND lease_owner = :lease AND state = 'running'
RETURNING job_id;

-- name: finish_job
UPDATE jobs SET state = 'done', result = :result, error = '', lease_owner = NULL, lease_until = NULL, updated_at = :now
WHERE job_id = :job_id AND lease_owner = :lease AND state = 'running'
RETURNING job_id;

-- name: bury_job
UPDATE jobs SET state = 'dead', error = :error, lease_owner = NULL, lease_until = NULL, updated_at = :now
WHERE job_id = :job_id AND lease_owner = :lease AND state = 'running'
RETURNING job_id;

-- name: hold_job
SELECT kind, owner_id, key FROM jobs WHERE job_id = :job_id AND lease_owner = :lease AND state = 'running';

-- name: absorb_pending_job
DELETE FROM jobs
WHERE kind = :kind AND owner_id = :owner_id AND key = :key AND state = 'pending'
RETURNING job_id, priority;

-- name: requeue_job
UPDATE jobs SET
  state = 'pending', error = :error, run_after = :run_after, attempts = attempts - :forgiven,
  priority = CASE WHEN :priority > priority THEN :priority ELSE priority END,
  lease_owner = NULL, lease_until = NULL, updated_at = :now
WHERE job_id = :job_id AND lease_owner = :lease AND state = 'running'
RETURNING job_id;

-- name: pending_twin
SELECT twin.job_id FROM jobs AS dead
JOIN jobs AS twin
  ON twin.kind = dead.kind AND twin.owner_id = dead.owner_id AND twin.key = dead.key AND twin.state = 'pending'
WHERE dead.job_id = :job_id AND dead.owner_id = :owner_id AND dead.state = 'dead';

-- name: close_dead_job
UPDATE jobs SET state = 'done', result = :result, updated_at = :now
WHERE job_id = :job_id AND owner_id = :owner_id AND state = 'dead'
RETURNING job_id;

-- name: retry_job
UPDATE jobs SET state = 'pending', attempts = 0, run_after = :now, updated_at = :now
WHERE job_id = :job_id AND owner_id = :owner_id AND (state = 'dead' OR state = 'pending' AND run_after > :now)
RETURNING job_id;

-- name: get_job
SELECT * FROM jobs WHERE job_id = :job_id AND owner_id = :owner_id;

-- name: page_jobs
SELECT * FROM jobs WHERE owner_id = :owner_id AND state = :state AND job_id > :after ORDER BY job_id LIMIT :limit;

-- name: page_jobs_of_home
SELECT * FROM jobs WHERE state = :state AND job_id > :after ORDER BY job_id LIMIT :limit;

-- name: count_jobs
SELECT kind, state, COUNT(*) AS n FROM jobs WHERE owner_id = :owner_id GROUP BY kind, state ORDER BY kind, state;

-- name: count_jobs_of_home
SELECT kind, state, COUNT(*) AS n FROM jobs GROUP BY kind, state ORDER BY kind, state;

-- name: outstanding_jobs
SELECT COUNT(*) AS n FROM jobs
WHERE kind = :kind AND owner_id = :owner_id AND key = :key AND state IN ('pending', 'running');

-- name: waiting_jobs
SELECT kind, state, CASE WHEN attempts = 0 AND error = '' THEN 1 ELSE 0 END AS fresh, COUNT(*) AS n,
  MIN(run_after) AS run_after, MIN(lease_until) AS lease_until
FROM jobs WHERE state IN ('pending', 'running') GROUP BY kind, state, CASE WHEN attempts = 0 AND error = '' THEN 1 ELSE 0 END;

-- name: delete_jobs_of_key
DELETE FROM jobs
WHERE kind = :kind AND owner_id = :owner_id AND state IN ('pending', 'running', 'dead')
  AND (key = :key OR substr(key, 1, length(CAST(:key AS TEXT)) + 1) = CAST(:key AS TEXT) || '/')
RETURNING job_id;

-- name: delete_jobs_of_owner
DELETE FROM jobs WHERE owner_id = :owner_id RETURNING job_id;

-- name: prune_done_jobs
DELETE FROM jobs WHERE state = 'done' AND updated_at < :before RETURNING job_id;

-- name: get_cursor
SELECT position, state FROM cursors WHERE stage = :stage AND owner_id = :owner_id AND key = :key;

-- name: advance_cursor
INSERT INTO cursors (stage, owner_id, key, position, state, updated_at)
VALUES (:stage, :owner_id, :key, :position, :state, :now)
ON CONFLICT (stage, owner_id, key) DO UPDATE SET
  position = excluded.position, state = excluded.state, updated_at = excluded.updated_at
WHERE cursors.position <= excluded.position
RETURNING position;

-- name: reset_cursor
DELETE FROM cursors WHERE stage = :stage AND owner_id = :owner_id AND key = :key RETURNING position;

-- name: cursors_of_stage
SELECT key, position, state FROM cursors WHERE stage = :stage AND owner_id = :owner_id ORDER BY key;

-- name: running_jobs_of_key
SELECT COUNT(*) AS n FROM jobs WHERE owner_id = :owner_id AND kind = :kind AND key = :key AND state = 'running';
