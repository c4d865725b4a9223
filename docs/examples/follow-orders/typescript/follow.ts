// Keeps a copy of the store of a key, until Ctrl-C. With `--print` it prints the copy.
import { DatabaseSync } from 'node:sqlite';
import { createClient } from 'store-data-client';

const { BASE_URL = '', CLIENT_ID = '', CLIENT_SECRET = '', COPY = 'store.sqlite' } = process.env;
const database = new DatabaseSync(COPY, { timeout: 10_000 });
database.exec(`PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS records (kind, id, record, timezone_offset, PRIMARY KEY (kind, id));
  CREATE TABLE IF NOT EXISTS cursor (id PRIMARY KEY, next)`);

if (process.argv.includes('--print')) {
  for (const { record, ...row } of database.prepare('SELECT * FROM records').iterate()) {
    console.log(JSON.stringify({ ...row, record: JSON.parse(String(record)) }));
  }
} else await follow();

async function follow() {
  const put = database.prepare('REPLACE INTO records VALUES (?, ?, ?, ?)');
  const remove = database.prepare('DELETE FROM records WHERE kind = ? AND id = ?');
  const advance = database.prepare('REPLACE INTO cursor VALUES (1, ?)');
  const stored = database.prepare('SELECT next FROM cursor').get() as { next: string } | undefined;

  const onRetry = ({ error }: { error: Error }) => console.error(error.message);
  const store = createClient({
    baseUrl: BASE_URL,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    onRetry,
  });
  for await (const { results, timezone_offset, next } of store.changes({ after: stored?.next })) {
    // One transaction: the records and `next` are stored together, or not at all.
    database.exec('BEGIN IMMEDIATE');
    for (const { kind, id, record } of results) {
      if (record === null) remove.run(kind, id);
      else put.run(kind, id, JSON.stringify(record), timezone_offset);
    }
    advance.run(next);
    database.exec('COMMIT');
  }
}
