/**
 * All that we change in kafkajs 2.2.4, whose version is pinned for it (https://github.com/tulios/kafkajs/issues). It does not know that it
 * is imported more than once: each patch is made when this file is loaded.
 */
import type { Socket } from 'node:net';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

interface RequestQueue {
  pending: readonly unknown[];
  scheduleCheckPendingRequests: () => void;
}

/**
 * #1704: without pending requests the delay is negative, so that each connection wakes the process
 * 1,000 times a second.
 */
function quietRequestQueues(): void {
  const { prototype } = require('kafkajs/src/network/requestQueue') as { prototype: RequestQueue };
  const { scheduleCheckPendingRequests: schedule } = prototype;
  prototype.scheduleCheckPendingRequests = function scheduleCheckPendingRequests() {
    if (this.pending.length > 0) schedule.call(this);
  };
}

interface Metadata {
  topicMetadata: { partitionMetadata: { partitionErrorCode: number }[] }[];
}

/**
 * #1460: one partition without a leader, of any topic, fails the whole answer. It is a partition
 * whose leader is -1.
 */
function acceptLeaderlessPartitions(): void {
  const response = require('kafkajs/src/protocol/requests/metadata/v0/response') as {
    parse: (answer: Metadata) => Promise<Metadata>;
  };
  const { parse } = response;
  response.parse = (answer) => {
    const partitions = answer.topicMetadata.flatMap(({ partitionMetadata }) => partitionMetadata);
    for (const partition of partitions) partition.partitionErrorCode = 0;
    return parse(answer);
  };
}

interface Connection {
  socket: Socket;
  processData: (bytes: Buffer) => void;
}

/**
 * #715: what a frame too short for its header throws in the listener of a socket ends the process.
 * Here it ends the connection.
 */
function endBrokenConnections(): void {
  const { prototype } = require('kafkajs/src/network/connection') as { prototype: Connection };
  const { processData } = prototype;
  prototype.processData = function endIfBroken(bytes) {
    // Bytes of a connection that was ended are not read (`connection.ts`).
    if (this.socket.destroyed) return;
    try {
      processData.call(this, bytes);
    } catch (error) {
      this.socket.destroy(error as Error);
    }
  };
}

quietRequestQueues();
acceptLeaderlessPartitions();
endBrokenConnections();
