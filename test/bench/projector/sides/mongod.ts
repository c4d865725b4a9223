/** The process of MongoDB, where it runs on this machine: its processor time is a part of the price. */
import { readFile } from 'node:fs/promises';
import type { MongoClient } from 'mongodb';

export async function mongodProcess(mongodb: MongoClient): Promise<number | null> {
  const { pid } = (await mongodb.db().admin().serverStatus()) as { pid: unknown };
  const found = Number(pid);
  // In a container, or elsewhere, the number is another process's here.
  const name = await readFile(`/proc/${found}/comm`, 'utf8').catch(() => '');
  return name.startsWith('mongod') ? found : null;
}
