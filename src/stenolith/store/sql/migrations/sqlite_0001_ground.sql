-- Authority 1: sessions, their turns and their lossless messages.
CREATE TABLE owners (
  owner_id INTEGER PRIMARY KEY,
  team_id TEXT NOT NULL DEFAULT 'default',
  user_id TEXT NOT NULL DEFAULT 'default',
  agent_id TEXT NOT NULL DEFAULT 'default',
  UNIQUE (team_id, user_id, agent_id)
) STRICT;

CREATE TABLE sessions (
  session_ref INTEGER PRIMARY KEY,
  owner_id INTEGER NOT NULL REFERENCES owners,
  session_key TEXT NOT NULL,
  session_id TEXT NOT NULL,
  task_id TEXT NOT NULL DEFAULT '',
  head_seq INTEGER NOT NULL DEFAULT 0,
  clock INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (owner_id, session_key, session_id)
) STRICT;
CREATE INDEX sessions_recent ON sessions (owner_id, updated_at);

CREATE TABLE turns (
  turn_id TEXT PRIMARY KEY,
  session_ref INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  state TEXT NOT NULL CHECK (state IN ('open', 'complete', 'failed', 'cancelled')),
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  opened_at INTEGER NOT NULL,
  closed_at INTEGER,
  error TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX turns_session ON turns (session_ref, first_seq);
CREATE INDEX turns_open ON turns (opened_at) WHERE state = 'open';

CREATE TABLE messages (
  message_id TEXT PRIMARY KEY,
  session_ref INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  turn_id TEXT NOT NULL,
  role TEXT NOT NULL,
  host_id TEXT NOT NULL DEFAULT '',
  digest TEXT NOT NULL,
  timestamp INTEGER,
  recorded_at INTEGER NOT NULL,
  status TEXT NOT NULL DEFAULT 'complete' CHECK (status IN ('complete', 'partial', 'failed', 'cancelled')),
  body TEXT NOT NULL,
  UNIQUE (session_ref, seq)
) STRICT;

-- A mark changes a view of a session (compaction, trimming); it never changes a message.
CREATE TABLE session_marks (
  mark_id TEXT PRIMARY KEY,
  session_ref INTEGER NOT NULL REFERENCES sessions ON DELETE CASCADE,
  kind TEXT NOT NULL,
  first_kept_seq INTEGER NOT NULL,
  body TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX session_marks_session ON session_marks (session_ref, created_at);

-- L0: the cleaned words of user and assistant, by the seed's names and columns, then ours.
CREATE TABLE l0_conversations (
  record_id TEXT PRIMARY KEY,
  session_key TEXT NOT NULL,
  session_id TEXT DEFAULT 'default',
  team_id TEXT DEFAULT 'default',
  task_id TEXT DEFAULT '',
  user_id TEXT NOT NULL DEFAULT 'default',
  agent_id TEXT NOT NULL DEFAULT 'default',
  role TEXT NOT NULL DEFAULT '',
  message_text TEXT NOT NULL,
  recorded_at TEXT DEFAULT '',
  timestamp INTEGER DEFAULT 0,
  owner_id INTEGER NOT NULL REFERENCES owners,
  session_ref INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  message_id TEXT NOT NULL,
  speaker TEXT NOT NULL DEFAULT '',
  timestamp_source TEXT NOT NULL DEFAULT 'host',
  distillable INTEGER NOT NULL DEFAULT 1,
  journal_day TEXT NOT NULL,
  journaled INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX l0_position ON l0_conversations (session_ref, seq);
CREATE INDEX l0_owner ON l0_conversations (owner_id, record_id);
CREATE INDEX l0_time ON l0_conversations (owner_id, timestamp);
CREATE INDEX l0_session ON l0_conversations (owner_id, session_key, timestamp);
CREATE INDEX l0_unjournaled ON l0_conversations (journal_day) WHERE journaled = 0;
CREATE INDEX l0_day ON l0_conversations (journal_day, record_id);

-- L1: atoms; a row is one version, root_id joins the versions of one fact.
CREATE TABLE atoms (
  atom_id TEXT PRIMARY KEY,
  owner_id INTEGER NOT NULL REFERENCES owners,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  normal_form TEXT NOT NULL,
  priority INTEGER NOT NULL DEFAULT 60,
  subject TEXT NOT NULL DEFAULT 'user',
  attribute TEXT NOT NULL DEFAULT '',
  speaker TEXT NOT NULL DEFAULT '',
  role TEXT NOT NULL DEFAULT 'user',
  session_key TEXT NOT NULL DEFAULT '',
  session_id TEXT NOT NULL DEFAULT '',
  caller_key TEXT,
  status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'superseded', 'expired', 'withdrawn')),
  version INTEGER NOT NULL DEFAULT 1,
  root_id TEXT NOT NULL,
  supersedes TEXT,
  superseded_by TEXT,
  reason TEXT NOT NULL DEFAULT '',
  recorded_at INTEGER NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_until INTEGER,
  occurred_start INTEGER,
  occurred_end INTEGER,
  expires_at INTEGER,
  needs_review TEXT NOT NULL DEFAULT '',
  task_only INTEGER NOT NULL DEFAULT 0,
  scene_id TEXT,
  origin TEXT NOT NULL DEFAULT 'rules',
  provenance TEXT NOT NULL DEFAULT '{}',
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX atoms_owner ON atoms (owner_id, atom_id);
CREATE INDEX atoms_recent ON atoms (owner_id, status, recorded_at);
CREATE INDEX atoms_kind ON atoms (owner_id, kind, status);
CREATE INDEX atoms_attribute ON atoms (owner_id, subject, attribute) WHERE attribute <> '';
CREATE INDEX atoms_normal ON atoms (owner_id, normal_form);
CREATE INDEX atoms_root ON atoms (root_id, version);
CREATE INDEX atoms_successor ON atoms (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX atoms_scene ON atoms (scene_id) WHERE scene_id IS NOT NULL;
CREATE INDEX atoms_expiry ON atoms (expires_at) WHERE expires_at IS NOT NULL AND status = 'active';
CREATE UNIQUE INDEX atoms_caller_key ON atoms (owner_id, caller_key) WHERE caller_key IS NOT NULL AND status = 'active';

CREATE TABLE atom_sources (
  atom_id TEXT NOT NULL REFERENCES atoms ON DELETE CASCADE,
  record_id TEXT NOT NULL,
  quote TEXT NOT NULL DEFAULT '',
  timestamp INTEGER,
  PRIMARY KEY (atom_id, record_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX atom_sources_record ON atom_sources (record_id);

-- L2 and L3: every version of a dossier and of a persona line is kept.
CREATE TABLE scenes (
  scene_id TEXT PRIMARY KEY,
  owner_id INTEGER NOT NULL REFERENCES owners,
  name TEXT NOT NULL,
  title TEXT NOT NULL,
  summary TEXT NOT NULL DEFAULT '',
  terms TEXT NOT NULL DEFAULT '[]',
  lines TEXT NOT NULL DEFAULT '[]',
  version INTEGER NOT NULL DEFAULT 1,
  archived INTEGER NOT NULL DEFAULT 0,
  redirect_to TEXT,
  stale INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  UNIQUE (owner_id, name)
) STRICT;
CREATE INDEX scenes_recent ON scenes (owner_id, archived, updated_at);

CREATE TABLE scene_versions (
  scene_id TEXT NOT NULL REFERENCES scenes ON DELETE CASCADE,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  author TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  PRIMARY KEY (scene_id, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE persona_lines (
  line_id TEXT PRIMARY KEY,
  owner_id INTEGER NOT NULL REFERENCES owners,
  section TEXT NOT NULL,
  text TEXT NOT NULL,
  atoms TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('standing', 'candidate', 'withdrawn')),
  missing TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 1,
  recorded_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX persona_owner ON persona_lines (owner_id, status);

CREATE TABLE persona_versions (
  owner_id INTEGER NOT NULL REFERENCES owners,
  version INTEGER NOT NULL,
  body TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  PRIMARY KEY (owner_id, version)
) STRICT, WITHOUT ROWID;

-- The outbox: a job is written in the transaction of the row it serves.
CREATE TABLE jobs (
  job_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  owner_id INTEGER NOT NULL,
  payload TEXT NOT NULL DEFAULT '{}',
  state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'running', 'done', 'dead')),
  priority INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  run_after INTEGER NOT NULL,
  lease_owner TEXT,
  lease_until INTEGER,
  error TEXT NOT NULL DEFAULT '',
  result TEXT NOT NULL DEFAULT '{}',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX jobs_debounce ON jobs (kind, owner_id, key) WHERE state = 'pending';
CREATE INDEX jobs_running ON jobs (kind, owner_id, key) WHERE state = 'running';
CREATE INDEX jobs_due ON jobs (state, kind, priority DESC, run_after, job_id);

CREATE TABLE cursors (
  stage TEXT NOT NULL,
  owner_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  position INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT '{}',
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (stage, owner_id, key)
) STRICT, WITHOUT ROWID;

-- Facts about the home itself, such as the key of the tombstones.
CREATE TABLE meta (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What language models cost: counts and money, never words.
CREATE TABLE model_usage (
  day TEXT NOT NULL,
  owner_id INTEGER NOT NULL,
  kind TEXT NOT NULL,
  model TEXT NOT NULL,
  calls INTEGER NOT NULL DEFAULT 0,
  failed INTEGER NOT NULL DEFAULT 0,
  tokens_in INTEGER NOT NULL DEFAULT 0,
  tokens_out INTEGER NOT NULL DEFAULT 0,
  cost REAL NOT NULL DEFAULT 0,
  PRIMARY KEY (day, owner_id, kind, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX model_usage_owner ON model_usage (owner_id, day);

-- What was deleted, without its content: a keyed hash that a re-import is compared with.
CREATE TABLE tombstones (
  layer TEXT NOT NULL,
  owner_id INTEGER NOT NULL,
  hash TEXT NOT NULL,
  actor TEXT NOT NULL,
  deleted_at INTEGER NOT NULL,
  PRIMARY KEY (layer, owner_id, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  audit_id TEXT PRIMARY KEY,
  at INTEGER NOT NULL,
  owner_id INTEGER NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  target TEXT NOT NULL,
  detail TEXT NOT NULL DEFAULT '{}'
) STRICT;
CREATE INDEX audit_time ON audit (at);

-- Derived from here on: each of these can be dropped and rebuilt.
CREATE TABLE search_rows (
  row_id INTEGER PRIMARY KEY,
  owner_id INTEGER NOT NULL,
  layer TEXT NOT NULL,
  ref_id TEXT NOT NULL,
  terms TEXT NOT NULL,
  context TEXT NOT NULL DEFAULT '',
  length INTEGER NOT NULL,
  context_length INTEGER NOT NULL DEFAULT 0,
  occurred_ms INTEGER,
  speaker TEXT NOT NULL DEFAULT '',
  session_ref INTEGER,
  seq INTEGER,
  declarative REAL NOT NULL DEFAULT 0,
  UNIQUE (layer, ref_id)
) STRICT;
CREATE INDEX search_rows_owner ON search_rows (owner_id, layer);
CREATE INDEX search_rows_session ON search_rows (session_ref, seq) WHERE session_ref IS NOT NULL;

CREATE VIRTUAL TABLE search_fts USING fts5 (
  terms, context, content = '', contentless_delete = 1, tokenize = "unicode61 categories 'L* N* Co Mn Mc' tokenchars '_.-'"
);
CREATE VIRTUAL TABLE search_df USING fts5vocab (search_fts, 'row');

CREATE TABLE vectors (
  layer TEXT NOT NULL,
  ref_id TEXT NOT NULL,
  owner_id INTEGER NOT NULL,
  model_id TEXT NOT NULL,
  dim INTEGER NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (layer, ref_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX vectors_owner ON vectors (owner_id, layer, model_id);

CREATE TABLE vector_means (
  owner_id INTEGER NOT NULL,
  layer TEXT NOT NULL,
  model_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  sum BLOB NOT NULL,
  mean BLOB,
  PRIMARY KEY (owner_id, layer, model_id)
) STRICT, WITHOUT ROWID;
