/** The copy: orders in SQLite, and beside them how far they were followed. Both are written in one transaction. */
import { DatabaseSync } from 'node:sqlite';

export interface Change {
  id: string;
  deleted: boolean;
  record: object | null;
}

export class Copy {
  readonly #database: DatabaseSync;

  constructor(file: string) {
    // Others may read the copy meanwhile.
    this.#database = new DatabaseSync(file, { timeout: 10_000 });
    this.#database.exec(`
      PRAGMA journal_mode = WAL;
      CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, record TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS cursor (id INTEGER PRIMARY KEY CHECK (id = 1), next TEXT NOT NULL);
    `);
  }

  /** Where to go on; `undefined` at the beginning. */
  get next(): string | undefined {
    const row = this.#database.prepare('SELECT next FROM cursor').get();
    return row === undefined ? undefined : String(row['next']);
  }

  /** Takes an answer in. Whatever is told twice is simply written twice. */
  take(changes: readonly Change[], next: string): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      const put = this.#database.prepare('INSERT OR REPLACE INTO orders VALUES (?, ?)');
      const remove = this.#database.prepare('DELETE FROM orders WHERE id = ?');
      for (const { id, record } of changes) {
        if (record === null) remove.run(id);
        else put.run(id, JSON.stringify(record));
      }
      this.#database.prepare('INSERT OR REPLACE INTO cursor VALUES (1, ?)').run(next);
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#database.close();
  }
}
