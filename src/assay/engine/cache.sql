-- The score cache from one version of the file to the next. Of two processes that open a new cache at once,
-- the second finds the tables there.

-- version 1
CREATE TABLE IF NOT EXISTS signatures (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS scores (
    signature INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, notes TEXT NOT NULL,
    checksum INTEGER NOT NULL, PRIMARY KEY (signature, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS grids (
    signature INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (signature, key)
);

-- version 2
CREATE TABLE IF NOT EXISTS paces (
    metric TEXT PRIMARY KEY, characters REAL NOT NULL, seconds REAL NOT NULL
);

-- version 3: checksums cover the signature from here on; rows that are whole by the older one get the newer one,
-- since a signature still names the same score, and a judge's answers were paid for
DELETE FROM scores WHERE checksum_of('', key, value, notes) <> checksum;
UPDATE scores SET checksum = checksum_of(
    (SELECT text FROM signatures WHERE id = scores.signature), key, value, notes
) WHERE signature IN (SELECT id FROM signatures);

-- version 4: a grid is a row of scores like any other
DROP TABLE IF EXISTS grids;
