/** The projector as a process that kills itself between two servers: a store's record is taken over, and still marked as if it were not. */
import { Collection } from 'mongodb';
import { STORE_RECORDS_PENDING } from '#shared/read-models/collections.ts';

const { deleteMany } = Collection.prototype;
Collection.prototype.deleteMany = function remove(...given) {
  if (this.collectionName === STORE_RECORDS_PENDING) process.kill(process.pid, 'SIGKILL');
  return deleteMany.apply(this, given);
};
await import('#projector/main.ts');
