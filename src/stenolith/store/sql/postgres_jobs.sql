-- Claims of any number of workers beside each other: a row that another one is about to take is passed over.
-- name: steal_jobs
WITH lost AS MATERIALIZED (
  SELECT job_id FROM jobs WHERE state = 'running' AND kind = :kind AND lease_until <= :now
    AND (:only_owner = 0 OR (owner_id = :only_owner AND key = :only_key))
  ORDER BY priority DESC, run_after, job_id LIMIT :limit FOR UPDATE SKIP LOCKED
)
UPDATE jobs SET lease_owner = :lease, lease_until = :lease_until, attempts = attempts + 1, error = :error, updated_at = :now
FROM lost WHERE jobs.job_id = lost.job_id
RETURNING jobs.*;

-- name: claim_jobs
WITH due AS MATERIALIZED (
  SELECT waiting.job_id FROM jobs AS waiting
  WHERE waiting.state = 'pending' AND waiting.kind = :kind
    AND (waiting.run_after <= :now OR (:eager = 1 AND waiting.attempts = 0 AND waiting.error = ''))
    AND (:only_owner = 0 OR (waiting.owner_id = :only_owner AND waiting.key = :only_key))
    AND NOT EXISTS (
      SELECT 1 FROM jobs AS busy
      WHERE busy.state = 'running' AND busy.kind = waiting.kind AND busy.owner_id = waiting.owner_id AND busy.key = waiting.key
    )
  ORDER BY waiting.priority DESC, waiting.run_after, waiting.job_id LIMIT :limit FOR UPDATE SKIP LOCKED
)
UPDATE jobs SET state = 'running', lease_owner = :lease, lease_until = :lease_until, attempts = attempts + 1, updated_at = :now
FROM due WHERE jobs.job_id = due.job_id
RETURNING jobs.*;
