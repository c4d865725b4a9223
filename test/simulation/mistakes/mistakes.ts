/** Mistakes that the simulation must find, by file. Each replaces a text that occurs once in it. */

interface Planted {
  /** The wrong behaviour. */
  mistake: string;
  replace: string;
  by: string;
}

export interface Mistake extends Planted {
  file: string;
}

const BY_FILE: Record<string, readonly Planted[]> = {
  'shared/projection/slice/checkpoint.ts': [
    {
      mistake: 'the checkpoint is moved without a comparison',
      replace: 'if (modifiedCount === 0) throw fenced(claim.id);',
      by: 'if (modifiedCount === -1) throw fenced(claim.id);',
    },
    {
      mistake: 'the checkpoint is moved without regard to its owner and position',
      replace: '{ _id: id, owner, position, last',
      by: '{ _id: id, last',
    },
    {
      mistake: 'a claim leaves the transaction of a killed owner open',
      replace: 'if (stored?.session !== undefined) {',
      by: 'if (stored === undefined) {',
    },
    {
      mistake: 'the position is moved outside of the transaction',
      replace: '{ session: claim.session },',
      by: '{},',
    },
    {
      mistake: 'the position is moved one message too far',
      replace: '{ position: slice.next,',
      by: '{ position: slice.next + 1,',
    },
    {
      mistake: 'a slice does not stop before a damaged batch',
      replace: '(bytes > limits.bytes || damagedBatch(message) !== undefined)',
      by: '(bytes > limits.bytes || damagedBatch(message) === null)',
    },
    {
      mistake: 'a transaction is never committed',
      replace: 'await session.commitTransaction();',
      by: 'await session.abortTransaction();',
    },
  ],
  'shared/projection/slice/epochs.ts': [
    {
      mistake: 'every event takes the same position',
      replace: 'taken.position += 1;',
      by: 'taken.position += taken.position === 0 ? 1 : 0;',
    },
    {
      mistake: 'the position of the reviews is not moved',
      replace: 'for (const [entity, last] of Object.entries(positions)) fields',
      by: 'for (const [entity, last] of Object.entries(positions)) if (entity !== "review") fields',
    },
  ],
  'shared/projection/pipeline/decode.ts': [
    {
      mistake: 'an event with the sequence of the one before it takes effect',
      replace: 'sequence > (chain.entries.at(-1)?.change.sequence ?? -1)',
      by: 'sequence >= (chain.entries.at(-1)?.change.sequence ?? -1)',
    },
  ],
  'shared/projection/pipeline/plan.ts': [
    {
      mistake: 'an event with the stored sequence takes effect',
      replace: 'change.sequence > version',
      by: 'change.sequence >= version',
    },
    {
      mistake: 'late events take effect',
      replace: 'const version = stored.sequences.get(key) ?? -1;',
      by: 'const version = stored.tombstones.has(key) ? (stored.sequences.get(key) ?? -1) : -1;',
    },
    {
      mistake: 'a record that is back keeps its tombstone',
      replace: 'if (isDeleted) result.restored.push(key);',
      by: 'if (isDeleted) result.restored.length = 0;',
    },
    {
      mistake: 'a deleted record stays stored',
      replace: 'if (isStored) push(result.removals, entity, documentId(storeId, id));',
      by: 'if (isStored && entity !== "order") push(result.removals, entity, documentId(storeId, id));',
    },
    {
      mistake: 'a record that is replaced counts as one more',
      replace: '(change.deletes ? 0 : 1) - (isStored ? 1 : 0)',
      by: '(change.deletes ? 0 : 1) - (isStored && change.deletes ? 1 : 0)',
    },
    {
      mistake: 'a store counts the records that changed, not the events',
      replace: 'add(stamp.counters, entity, entries.length);',
      by: 'add(stamp.counters, entity, 1);',
    },
    {
      mistake: 'tombstones are not counted, so that they are never read',
      replace: '(change.deletes ? 1 : 0) - (isDeleted ? 1 : 0)',
      by: '(change.deletes && isDeleted ? 1 : 0) - (isDeleted ? 1 : 0)',
    },
    {
      mistake: 'an order shows the customer who is deleted later in the slice',
      replace: 'else if (entry.change.deletes) return true;',
      by: 'else if (entry.change.deletes && at < 0) return true;',
    },
    {
      mistake: 'an order shows a customer who was deleted before',
      replace: 'let deleted = deletedBefore;',
      by: 'let deleted = deletedBefore && at < 0;',
    },
  ],
  'shared/projection/pipeline/apply.ts': [
    {
      mistake: 'orders keep what they say of a customer who is deleted',
      replace: 'await eraseCustomers(db, session, deleted, writing.slice.partition);',
      by: 'void deleted;',
    },
    {
      mistake: 'poison leaves no letter',
      replace: 'const deadLetters = lettersOf(slice, [...left.rejected, ...planned.failed]);',
      by: 'const deadLetters = lettersOf(slice, [...planned.failed]);',
    },
    {
      mistake: 'documents are written outside of the transaction',
      replace: 'documents: part, ordered: false },\n      { session },',
      by: 'documents: part, ordered: false },\n      {},',
    },
    {
      mistake: 'a retried letter takes no position',
      replace: 'given.set(_id, taken);\n',
      by: 'given.set(_id, taken);\n    if (!isNext) delete $set["position"];\n',
    },
  ],
  'shared/projection/pipeline/stored.ts': [
    {
      mistake: 'stamps are read outside of the transaction',
      replace: '.find({ _id: { $in: [...stores] } }, { session, batchSize: ONE_BATCH })',
      by: '.find({ _id: { $in: [...stores].slice(1) } }, { session, batchSize: ONE_BATCH })',
    },
  ],
  'shared/projection/rank-tree/loaded-tree.ts': [
    {
      mistake: 'a record that moves is not taken from its former place in the tree',
      replace:
        'if (!after.some((other) => isSame(entry, other)))\n      changeOf(changes, entry, storeId).removed',
      by: 'if (after.length === 0) changeOf(changes, entry, storeId).removed',
    },
    {
      mistake: 'a leaf forgets the facets of what comes',
      replace: 'part.counts[facet] = (part.counts[facet] ?? 0) + by;',
      by: 'if (node.level > 0) part.counts[facet] = (part.counts[facet] ?? 0) + by;',
    },
  ],
  'shared/projection/rank-tree/change.ts': [
    {
      mistake: 'the counts of a tree leave out what goes',
      replace: 'for (const { facet } of removed) counts[facet] = (counts[facet] ?? 0) - 1;',
      by: 'for (const { facet } of removed.slice(1)) counts[facet] = (counts[facet] ?? 0) - 1;',
    },
    {
      mistake: 'nodes do not count what comes in twos and more',
      replace: 'shareOf(loaded.count(entry, 1))?.added.push(entry);',
      by: 'shareOf(loaded.count(entry, added.length > 1 ? 0 : 1))?.added.push(entry);',
    },
  ],
  'services/projector/log/continuity.ts': [
    {
      mistake: 'another log is not noticed',
      replace: 'if (found === undefined || !isSameMessage(shown, found)) {',
      by: 'if (found === undefined) {',
    },
    {
      mistake: 'what comes at the end of the log is taken without a proof',
      replace: "if (reading !== 'prove') {",
      by: "if (reading === 'wait') return take(messages.filter(isRead), answer);\n    if (reading !== 'prove') {",
    },
    {
      mistake: 'a fetch that does not show the last message is taken',
      replace: 'if (found === undefined || !isSameMessage(shown, found)) {',
      by: `if (found === undefined) return take(messages.filter(isRead), answer);
    if (!isSameMessage(shown, found)) {`,
    },
    {
      mistake: 'messages that were applied are taken again',
      replace: 'return take(messages.slice(at + 1).filter(isRead), answer);',
      by: 'return take(messages.slice(at), answer);',
    },
    {
      mistake: 'the position behind a gap is one too low',
      replace: 'next = behind;',
      by: 'next = behind - 1;',
    },
    {
      mistake: 'the position behind a gap is one too high',
      replace: "return { kind: 'take', taken: { messages, after, next: behind, logEnd: end } };",
      by: "return { kind: 'take', taken: { messages, after, next: behind + 1, logEnd: end } };",
    },
  ],
  'shared/kafka/fetcher.ts': [
    {
      mistake: 'a late answer is taken for what is wanted now',
      replace: 'if (want === undefined || !wants.has(want)) continue;',
      by: `for (const other of wants) if (other.partition === one.partition) await settle(other, one);
        if (want === undefined || !wants.has(want)) continue;`,
    },
  ],
  'services/projector/log/assignment.ts': [
    {
      mistake: 'a piece of an erasure is not fenced',
      replace: 'await holdCheckpoint(claim, clock);',
      by: 'await Promise.resolve(holdCheckpoint);',
    },
  ],
  'shared/projection/erasure/pieces.ts': [
    {
      mistake: 'an erasure skips reviews after it has ended the orders',
      replace: "[collection, after] = ['', ''];",
      by: "[collection, after] = [COLLECTIONS[entity], ''];",
    },
  ],
  'shared/projection/pipeline/layouts.ts': [
    {
      mistake: 'a product that changes its category counts in both',
      replace: "if (typeof place !== 'string') continue;",
      by: "if (typeof place !== 'string' || (by < 0 && after !== null)) continue;",
    },
  ],
  'services/projector/log/loop.ts': [
    {
      mistake: 'the last message of a slice is left out',
      replace: 'const part = messages.slice(index, end);',
      by: 'const part = messages.slice(index, Math.max(index + 1, end - 1));',
    },
    {
      mistake: 'what is skipped ends one message too late',
      replace: 'messages: [skipped], next: to + 1 }, 0);',
      by: 'messages: [skipped], next: to + 2 }, 0);',
    },
    {
      mistake: 'a batch is written from its beginning again after a failure',
      replace:
        'return last !== null && found !== undefined && isSameMessage(last, found) ? at + 1 : -1;',
      by: 'return last !== null && found !== undefined && isSameMessage(last, found) ? at : -1;',
    },
    {
      mistake: 'a partition that is fenced never claims again',
      replace: 'if (!isOver()) await claimCheckpoint(null);',
      by: 'if (!isOver()) await claimCheckpoint(claim);',
    },
  ],
  'services/query/feed/cursor.ts': [
    {
      mistake: 'a cursor of another generation counts',
      replace: 'if (after.generation !== generation) return EVERYTHING;',
      by: 'if (after.generation !== generation) return { ...EVERYTHING, lastDelivered: after.lastDelivered };',
    },
    {
      mistake: 'a cursor of an epoch that is not known counts',
      replace: 'if (at === -1) return EVERYTHING;',
      by: 'if (at === -1) return { lastDelivered, skipDeletionsUpTo };',
    },
  ],
};

export const MISTAKES: readonly Mistake[] = Object.entries(BY_FILE).flatMap(([file, planted]) =>
  planted.map((one) => ({ ...one, file })),
);
