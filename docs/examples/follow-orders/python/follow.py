"""Keeps a copy of the store of a key, until Ctrl-C. With `--print` it prints the copy."""

import json
import os
import sqlite3
import sys

from store_data_client import Client

database = sqlite3.connect(os.environ.get("COPY", "store.sqlite"), timeout=10)
database.execute("PRAGMA journal_mode = WAL")
database.execute("CREATE TABLE IF NOT EXISTS records (kind, id, record, timezone_offset, PRIMARY KEY (kind, id))")
database.execute("CREATE TABLE IF NOT EXISTS cursor (id PRIMARY KEY, next)")

if "--print" in sys.argv:
    for kind, id, record, offset in database.execute("SELECT * FROM records"):
        print(json.dumps({"kind": kind, "id": id, "record": json.loads(record), "timezone_offset": offset}))
    sys.exit()

stored = database.execute("SELECT next FROM cursor").fetchone()
address, *key = (os.environ[name] for name in ("BASE_URL", "CLIENT_ID", "CLIENT_SECRET"))
store = Client(address, *key, on_retry=lambda error, attempt, pause: print(error, file=sys.stderr))
for batch in store.changes(after=stored and stored[0]):
    with database:  # One transaction: the records and `next` are stored together, or not at all.
        for change in batch["results"]:
            if change["record"] is None:
                database.execute("DELETE FROM records WHERE kind = ? AND id = ?", (change["kind"], change["id"]))
            else:
                row = (change["kind"], change["id"], json.dumps(change["record"]), batch["timezone_offset"])
                database.execute("REPLACE INTO records VALUES (?, ?, ?, ?)", row)
        database.execute("REPLACE INTO cursor VALUES (1, ?)", (batch["next"],))
