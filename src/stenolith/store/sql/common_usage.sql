-- name: add_model_usage
INSERT INTO model_usage (day, owner_id, kind, model, calls, failed, tokens_in, tokens_out, cost)
VALUES (:day, :owner_id, :kind, :model, :calls, :failed, :tokens_in, :tokens_out, :cost)
ON CONFLICT (day, owner_id, kind, model) DO UPDATE SET
  calls = model_usage.calls + excluded.calls,
  failed = model_usage.failed + excluded.failed,
  tokens_in = model_usage.tokens_in + excluded.tokens_in,
  tokens_out = model_usage.tokens_out + excluded.tokens_out,
  cost = model_usage.cost + excluded.cost
RETURNING day;

-- name: model_usage_of_day
SELECT
  COALESCE(SUM(calls), 0) AS calls, COALESCE(SUM(failed), 0) AS failed, COALESCE(SUM(tokens_in), 0) AS tokens_in,
  COALESCE(SUM(tokens_out), 0) AS tokens_out, COALESCE(SUM(cost), 0) AS cost
FROM model_usage WHERE day = :day;

-- name: model_usage_of_owner
SELECT day, owner_id, kind, model, calls, failed, tokens_in, tokens_out, cost
FROM model_usage WHERE owner_id = :owner_id AND day >= :since ORDER BY day, kind, model;

-- name: model_usage_of_home
SELECT
  model, SUM(calls) AS calls, SUM(failed) AS failed, SUM(tokens_in) AS tokens_in, SUM(tokens_out) AS tokens_out,
  SUM(cost) AS cost
FROM model_usage WHERE day >= :since GROUP BY model ORDER BY model;
