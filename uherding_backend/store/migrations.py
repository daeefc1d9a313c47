"""The database's history: each entry is applied once, in order, and never edited afterwards."""

MIGRATIONS = (
    # 1: projects, what is known of their tasks and annotations, rounds and their queues
    """
    CREATE TABLE projects (
        id INTEGER PRIMARY KEY,
        uid TEXT NOT NULL,
        title TEXT NOT NULL DEFAULT '',
        label_studio_url TEXT NOT NULL,
        link_url TEXT NOT NULL,
        token TEXT NOT NULL,
        backend_url TEXT NOT NULL,
        label_config TEXT NOT NULL,
        options TEXT NOT NULL DEFAULT '{}',
        active INTEGER NOT NULL DEFAULT 1,
        prepared TEXT NOT NULL DEFAULT '',
        notes TEXT NOT NULL DEFAULT '[]',
        problem TEXT NOT NULL DEFAULT '',
        heard_at REAL NOT NULL DEFAULT 0,
        look INTEGER NOT NULL DEFAULT 1,
        looked_at REAL NOT NULL DEFAULT 0,
        sampling TEXT NOT NULL DEFAULT '',
        tasks_changed INTEGER NOT NULL DEFAULT 0,
        reasserted TEXT NOT NULL DEFAULT '',
        extractor TEXT NOT NULL DEFAULT '{}'
    );
    CREATE TABLE annotations (
        project_id INTEGER NOT NULL,
        id INTEGER NOT NULL,
        task_id INTEGER NOT NULL,
        answer TEXT,
        skipped INTEGER NOT NULL,
        ground_truth INTEGER NOT NULL,
        updated TEXT NOT NULL,
        PRIMARY KEY (project_id, id)
    ) WITHOUT ROWID;
    CREATE TABLE items (
        project_id INTEGER NOT NULL,
        task_id INTEGER NOT NULL,
        image TEXT NOT NULL,
        content_hash TEXT,
        problem TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (project_id, task_id)
    ) WITHOUT ROWID;
    CREATE TABLE feature_rows (
        extractor TEXT NOT NULL,
        content_hash TEXT NOT NULL,
        row INTEGER NOT NULL,
        PRIMARY KEY (extractor, content_hash)
    ) WITHOUT ROWID;
    CREATE UNIQUE INDEX feature_rows_in_file_order ON feature_rows (extractor, row);
    CREATE TABLE rounds (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project_id INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('due', 'running', 'published', 'failed')),
        reason TEXT NOT NULL,
        requested_at REAL NOT NULL,
        started_at REAL,
        finished_at REAL,
        step TEXT NOT NULL DEFAULT '',
        progress REAL NOT NULL DEFAULT 0,
        version TEXT NOT NULL DEFAULT '',
        error TEXT NOT NULL DEFAULT '',
        report TEXT NOT NULL DEFAULT '{}'
    );
    CREATE UNIQUE INDEX one_due_round ON rounds (project_id) WHERE state = 'due';
    CREATE UNIQUE INDEX one_running_round ON rounds (project_id) WHERE state = 'running';
    CREATE INDEX rounds_by_project ON rounds (project_id, id);
    CREATE TABLE queue (
        round_id INTEGER NOT NULL,
        rank INTEGER NOT NULL,
        task_id INTEGER NOT NULL,
        gain REAL NOT NULL,
        uncertainty REAL NOT NULL,
        predicted TEXT NOT NULL,
        probability REAL NOT NULL,
        PRIMARY KEY (round_id, rank)
    ) WITHOUT ROWID;
    CREATE TABLE round_labels (
        round_id INTEGER NOT NULL,
        task_id INTEGER NOT NULL,
        answer TEXT NOT NULL,
        PRIMARY KEY (round_id, task_id)
    ) WITHOUT ROWID;
    """,
    # 2: what the dashboard shows and lets people do
    """
    ALTER TABLE annotations ADD COLUMN author TEXT NOT NULL DEFAULT '';
    ALTER TABLE annotations ADD COLUMN created TEXT NOT NULL DEFAULT '';
    ALTER TABLE annotations ADD COLUMN seconds REAL;
    ALTER TABLE projects ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE projects ADD COLUMN chosen TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE rounds ADD COLUMN step_started_at REAL;
    ALTER TABLE rounds ADD COLUMN insights TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE queue ADD COLUMN second TEXT NOT NULL DEFAULT '';
    ALTER TABLE queue ADD COLUMN second_probability REAL NOT NULL DEFAULT 0;
    ALTER TABLE queue ADD COLUMN company INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE queue ADD COLUMN audit INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE audit_tasks (
        project_id INTEGER NOT NULL,
        task_id INTEGER NOT NULL,
        PRIMARY KEY (project_id, task_id)
    ) WITHOUT ROWID;
    CREATE TABLE actions (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        project_id INTEGER NOT NULL,
        at REAL NOT NULL,
        who TEXT NOT NULL,
        what TEXT NOT NULL
    );
    CREATE INDEX annotations_by_task ON annotations (project_id, task_id);
    CREATE INDEX actions_by_project ON actions (project_id, id)
    """,
    # 3: what pages would have to count; filled when the store is opened
    """
    CREATE TABLE counts (
        project_id INTEGER PRIMARY KEY,
        classes TEXT NOT NULL,
        tasks INTEGER NOT NULL,
        labels INTEGER NOT NULL DEFAULT 0,
        set_aside INTEGER NOT NULL DEFAULT 0,
        new_labels INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX unreadable_items ON items (project_id, task_id) WHERE problem != '';
    CREATE INDEX published_rounds ON rounds (project_id, finished_at, id)
        WHERE state = 'published'
    """,
    # 4: when Label Studio last listed a project's tasks, and how often they came into doubt
    """
    CREATE TABLE listings (
        project_id INTEGER PRIMARY KEY,
        data_key TEXT NOT NULL,
        at REAL NOT NULL,
        doubts INTEGER NOT NULL
    );
    ALTER TABLE projects ADD COLUMN task_doubts INTEGER NOT NULL DEFAULT 0
    """,
)
