/** A projector that kills itself between writes to two servers: it has applied a store's record, but not removed its mark. */
import { Collection } from 'mongodb';
import { STORE_RECORDS_PENDING } from '#shared/read-models/collections.ts';

const { deleteMany } = Collection.prototype;
Collection.prototype.deleteMany = function remove(...given) {
  if (this.collectionName === STORE_RECORDS_PENDING) process.kill(process.pid, 'SIGKILL');
  return deleteMany.apply(this, given);
};
await import('#projector/main.ts');
