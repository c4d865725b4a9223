/** The copy: a table in SQLite for each kind, and beside them how far they were followed. All are written in one transaction. */
import { DatabaseSync } from 'node:sqlite';
import type { components } from './store-data.d.ts';

export type Changes = components['schemas']['Changes'];
export type Kind = Changes['results'][number]['kind'];

const TABLES: Record<Kind, string> = {
  store: 'stores',
  order: 'orders',
  customer: 'customers',
  review: 'reviews',
  campaign: 'campaigns',
  coupon: 'coupons',
  category: 'categories',
  product: 'products',
  'option-group': 'option_groups',
};
export const KINDS = Object.keys(TABLES) as Kind[];

export class Copy {
  readonly #database: DatabaseSync;

  constructor(file: string) {
    // Others may read the copy meanwhile.
    this.#database = new DatabaseSync(file, { timeout: 10_000 });
    this.#database.exec('PRAGMA journal_mode = WAL');
    for (const table of Object.values(TABLES)) {
      this.#database.exec(
        `CREATE TABLE IF NOT EXISTS ${table} (id TEXT PRIMARY KEY, record TEXT NOT NULL, timezone_offset TEXT NOT NULL)`,
      );
    }
    this.#database.exec(
      'CREATE TABLE IF NOT EXISTS cursor (id INTEGER PRIMARY KEY CHECK (id = 1), next TEXT NOT NULL)',
    );
  }

  /** Where to go on; `undefined` at the beginning. */
  get next(): string | undefined {
    const row = this.#database.prepare('SELECT next FROM cursor').get();
    return row === undefined ? undefined : String(row['next']);
  }

  /** Takes an answer in. A record that is told twice is written twice. */
  take({ results, timezone_offset: offset, next }: Changes): void {
    this.#database.exec('BEGIN IMMEDIATE');
    try {
      for (const { kind, id, record } of results) {
        if (record === null) {
          this.#database.prepare(`DELETE FROM ${TABLES[kind]} WHERE id = ?`).run(id);
        } else {
          const put = `INSERT OR REPLACE INTO ${TABLES[kind]} VALUES (?, ?, ?)`;
          this.#database.prepare(put).run(id, JSON.stringify(record), offset);
        }
      }
      this.#database.prepare('INSERT OR REPLACE INTO cursor VALUES (1, ?)').run(next);
      this.#database.exec('COMMIT');
    } catch (error) {
      this.#database.exec('ROLLBACK');
      throw error;
    }
  }

  print(): void {
    for (const kind of KINDS) {
      for (const { id, record, timezone_offset } of this.#database.prepare(`SELECT * FROM ${TABLES[kind]}`).iterate()) {
        console.log(JSON.stringify({ kind, id, record: JSON.parse(String(record)), timezone_offset }));
      }
    }
  }

  close(): void {
    this.#database.close();
  }
}
