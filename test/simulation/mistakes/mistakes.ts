/** Mistakes that the simulation must find. Each replaces a text that occurs once in its file. */

export interface Mistake {
  /** The wrong behaviour. */
  mistake: string;
  file: string;
  replace: string;
  by: string;
}

const CHECKPOINT = 'shared/projection/slice/checkpoint.ts';
const EPOCHS = 'shared/projection/slice/epochs.ts';
const PLAN = 'shared/projection/pipeline/plan.ts';
const APPLY = 'shared/projection/pipeline/apply.ts';
const DECODE = 'shared/projection/pipeline/decode.ts';
const STORED = 'shared/projection/pipeline/stored.ts';
const CONTINUITY = 'services/projector/log/continuity.ts';
const LOOP = 'services/projector/log/loop.ts';
const ASSIGNMENT = 'services/projector/log/assignment.ts';
const FETCHER = 'shared/kafka/fetcher.ts';
const PIECES = 'shared/projection/erasure/pieces.ts';
const LAYOUTS = 'shared/projection/pipeline/layouts.ts';
const CURSOR = 'services/query/feed/cursor.ts';
const TREE = 'shared/projection/rank-tree/loaded-tree.ts';
const MAINTAIN = 'shared/projection/rank-tree/change.ts';

export const MISTAKES: readonly Mistake[] = [
  {
    mistake: 'the checkpoint is moved without a comparison',
    file: CHECKPOINT,
    replace: 'if (modifiedCount === 0) throw fenced(claim.id);',
    by: 'if (modifiedCount === -1) throw fenced(claim.id);',
  },
  {
    mistake: 'the checkpoint is moved without regard to its owner and position',
    file: CHECKPOINT,
    replace: '_id: id,\n    owner,\n    position,\n    ...',
    by: '_id: id,\n    ...',
  },
  {
    mistake: 'a claim leaves the transaction of a killed owner open',
    file: CHECKPOINT,
    replace: 'if (stored?.session !== undefined) {',
    by: 'if (stored === undefined) {',
  },
  {
    mistake: 'the position is moved outside of the transaction',
    file: CHECKPOINT,
    replace: '{ session: claim.session },\n      );',
    by: '{},\n      );',
  },
  {
    mistake: 'the position is moved one message too far',
    file: CHECKPOINT,
    replace: 'const $set = { position: slice.next,',
    by: 'const $set = { position: slice.next + 1,',
  },
  {
    mistake: 'every event takes the same position',
    file: EPOCHS,
    replace: 'taken.position += 1;',
    by: 'taken.position += taken.position === 0 ? 1 : 0;',
  },
  {
    mistake: 'an event with the sequence of the one before it takes effect',
    file: DECODE,
    replace: 'sequence > (chain.entries.at(-1)?.change.sequence ?? -1)',
    by: 'sequence >= (chain.entries.at(-1)?.change.sequence ?? -1)',
  },
  {
    mistake: 'an event with the stored sequence takes effect',
    file: PLAN,
    replace: 'change.sequence > version',
    by: 'change.sequence >= version',
  },
  {
    mistake: 'late events take effect',
    file: PLAN,
    replace: 'const version = stored.sequences.get(key) ?? -1;',
    by: 'const version = stored.tombstones.has(key) ? (stored.sequences.get(key) ?? -1) : -1;',
  },
  {
    mistake: 'a record that is back keeps its tombstone',
    file: PLAN,
    replace: 'if (isDeleted) result.restored.push(key);',
    by: 'if (isDeleted) result.restored.length = 0;',
  },
  {
    mistake: 'a deleted record stays stored',
    file: PLAN,
    replace: 'if (isStored) push(result.removals, entity, documentId(storeId, id));',
    by: 'if (isStored && entity !== "order") push(result.removals, entity, documentId(storeId, id));',
  },
  {
    mistake: 'a record that is replaced counts as one more',
    file: PLAN,
    replace: '(change.deletes ? 0 : 1) - (isStored ? 1 : 0)',
    by: '(change.deletes ? 0 : 1) - (isStored && change.deletes ? 1 : 0)',
  },
  {
    mistake: 'a store counts the records that changed, not the events',
    file: PLAN,
    replace: 'add(stamp.counters, entity, entries.length);',
    by: 'add(stamp.counters, entity, 1);',
  },
  {
    mistake: 'tombstones are not counted, so that they are never read',
    file: PLAN,
    replace: '(change.deletes ? 1 : 0) - (isDeleted ? 1 : 0)',
    by: '(change.deletes && isDeleted ? 1 : 0) - (isDeleted ? 1 : 0)',
  },
  {
    mistake: 'an order shows the customer who is deleted later in the slice',
    file: PLAN,
    replace: 'else if (entry.change.deletes) return true;',
    by: 'else if (entry.change.deletes && at < 0) return true;',
  },
  {
    mistake: 'an order shows a customer who was deleted before',
    file: PLAN,
    replace: 'let deleted = deletedBefore;',
    by: 'let deleted = deletedBefore && at < 0;',
  },
  {
    mistake: 'orders keep what they say of a customer who is deleted',
    file: APPLY,
    replace: 'await eraseCustomers(db, session, deleted, writing.slice.partition);',
    by: 'void deleted;',
  },
  {
    mistake: 'poison leaves no letter',
    file: APPLY,
    replace: 'const deadLetters = lettersOf(slice, [...left.rejected, ...planned.failed]);',
    by: 'const deadLetters = lettersOf(slice, [...planned.failed]);',
  },
  {
    mistake: 'documents are written outside of the transaction',
    file: APPLY,
    replace: 'documents: part, ordered: false },\n      { session },',
    by: 'documents: part, ordered: false },\n      {},',
  },
  {
    mistake: 'stamps are read outside of the transaction',
    file: STORED,
    replace: '.find({ _id: { $in: [...stores] } }, { session, batchSize: ONE_BATCH })',
    by: '.find({ _id: { $in: [...stores].slice(1) } }, { session, batchSize: ONE_BATCH })',
  },
  {
    mistake: 'a record that moves is not taken from its former place in the tree',
    file: TREE,
    replace:
      'if (!after.some((other) => isSame(entry, other)))\n      changeOf(changes, entry, storeId).removed',
    by: 'if (after.length === 0) changeOf(changes, entry, storeId).removed',
  },
  {
    mistake: 'the counts of a tree leave out what goes',
    file: MAINTAIN,
    replace: 'for (const { facet } of removed) counts[facet] = (counts[facet] ?? 0) - 1;',
    by: 'for (const { facet } of removed.slice(1)) counts[facet] = (counts[facet] ?? 0) - 1;',
  },
  {
    mistake: 'nodes do not count what comes in twos and more',
    file: MAINTAIN,
    replace: 'shareOf(loaded.count(entry, 1))?.added.push(entry);',
    by: 'shareOf(loaded.count(entry, added.length > 1 ? 0 : 1))?.added.push(entry);',
  },
  {
    mistake: 'another log is not noticed',
    file: CONTINUITY,
    replace: 'if (found === undefined || !isSameMessage(last, found)) {',
    by: 'if (found === undefined) {',
  },
  {
    mistake: 'what comes at the end of the log is taken without a proof',
    file: CONTINUITY,
    replace: "if (this.#read !== 'prove') {",
    by: "if (this.#read === 'wait') return this.#take(messages.filter(isRead), answer);\n    if (this.#read !== 'prove') {",
  },
  {
    mistake: 'a fetch that does not show the last message is taken',
    file: CONTINUITY,
    replace: 'if (found === undefined || !isSameMessage(last, found)) {',
    by: `if (found === undefined) return this.#take(messages.filter(isRead), answer);
    if (!isSameMessage(last, found)) {`,
  },
  {
    mistake: 'messages that were applied are taken again',
    file: CONTINUITY,
    replace: 'return this.#take(messages.slice(at + 1).filter(isRead), answer);',
    by: 'return this.#take(messages.slice(at), answer);',
  },
  {
    mistake: 'the position behind a gap is one too low',
    file: CONTINUITY,
    replace: 'this.#next = next;\n    this.#ahead = null;',
    by: 'this.#next = next - 1;\n    this.#ahead = null;',
  },
  {
    mistake: 'the position behind a gap is one too high',
    file: CONTINUITY,
    replace: "return { kind: 'take', taken: { messages, after, next, logEnd: end } };",
    by: "return { kind: 'take', taken: { messages, after, next: next + 1, logEnd: end } };",
  },
  {
    mistake: 'a late answer is taken for what is wanted now',
    file: FETCHER,
    replace: 'if (want === undefined || !this.#wants.has(want)) continue;',
    by: `for (const other of this.#wants) if (other.partition === one.partition) await this.#settle(other, one);
        if (want === undefined || !this.#wants.has(want)) continue;`,
  },
  {
    mistake: 'a piece of an erasure is not fenced',
    file: ASSIGNMENT,
    replace: 'await holdCheckpoint(claim, this.#clock);',
    by: 'await Promise.resolve(holdCheckpoint);',
  },
  {
    mistake: 'a slice does not stop before a damaged batch',
    file: CHECKPOINT,
    replace: '(bytes > limits.bytes || damagedBatch(message) !== undefined)',
    by: '(bytes > limits.bytes || damagedBatch(message) === null)',
  },
  {
    mistake: 'a retried letter takes no position',
    file: APPLY,
    replace: 'given.set(_id, taken);\n',
    by: 'given.set(_id, taken);\n    if (!isNext) delete $set["position"];\n',
  },
  {
    mistake: 'an erasure skips reviews after it has ended the orders',
    file: PIECES,
    replace: "[collection, after] = ['', ''];",
    by: "[collection, after] = [COLLECTIONS[entity], ''];",
  },
  {
    mistake: 'a leaf forgets the facets of what comes',
    file: TREE,
    replace: 'part.counts[facet] = (part.counts[facet] ?? 0) + by;',
    by: 'if (node.level > 0) part.counts[facet] = (part.counts[facet] ?? 0) + by;',
  },
  {
    mistake: 'a product that changes its category counts in both',
    file: LAYOUTS,
    replace: "if (typeof place !== 'string') continue;",
    by: "if (typeof place !== 'string' || (by < 0 && after !== null)) continue;",
  },
  {
    mistake: 'the position of the reviews is not moved',
    file: EPOCHS,
    replace: 'for (const [entity, last] of Object.entries(positions)) fields',
    by: 'for (const [entity, last] of Object.entries(positions)) if (entity !== "review") fields',
  },
  {
    mistake: 'the last message of a slice is left out',
    file: LOOP,
    replace: 'const part = messages.slice(index, end);',
    by: 'const part = messages.slice(index, Math.max(index + 1, end - 1));',
  },
  {
    mistake: 'what is skipped ends one message too late',
    file: LOOP,
    replace: 'messages: [skipped], next: to + 1 }, 0);',
    by: 'messages: [skipped], next: to + 2 }, 0);',
  },
  {
    mistake: 'a batch is written from its beginning again after a failure',
    file: LOOP,
    replace:
      'return last !== null && found !== undefined && isSameMessage(last, found) ? at + 1 : -1;',
    by: 'return last !== null && found !== undefined && isSameMessage(last, found) ? at : -1;',
  },
  {
    mistake: 'a partition that is fenced never claims again',
    file: LOOP,
    replace: 'if (!this.#isOver) await this.#claimCheckpoint(null);',
    by: 'if (!this.#isOver) await this.#claimCheckpoint(this.#claim);',
  },
  {
    mistake: 'a transaction is never committed',
    file: CHECKPOINT,
    replace: 'await session.commitTransaction();',
    by: 'await session.abortTransaction();',
  },
  {
    mistake: 'a cursor of another generation counts',
    file: CURSOR,
    replace: 'if (after.generation !== generation) return EVERYTHING;',
    by: 'if (after.generation !== generation) return { ...EVERYTHING, lastDelivered: after.lastDelivered };',
  },
  {
    mistake: 'a cursor of an epoch that is not known counts',
    file: CURSOR,
    replace: 'if (at === -1) return EVERYTHING;',
    by: 'if (at === -1) return { lastDelivered, skipDeletionsUpTo };',
  },
];
