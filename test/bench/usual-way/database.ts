/** Where the documents of the usual way lie: in a database beside those of the read models. */
import type { Db, MongoClient } from 'mongodb';

export function usualWayDatabase(client: MongoClient, prefix: string): Db {
  return client.db(`${prefix}_usual_way`);
}
