/**
 * Replaces the router of a sharded cluster for zone and sharding commands: speaks MongoDB's protocol, and stores and returns the
 * collections of `config`. It holds no documents.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { BSON, type Document, Long } from 'mongodb';

const REPLY = 1;
const QUERY = 2_004;
const MESSAGE = 2_013;
const HEADER_BYTES = 16;

export interface StandInRouter {
  uri: string;
  /** The received commands, in order. */
  told: { database: string; command: Document }[];
  close: () => Promise<void>;
}

/** Starts a router with these shards. */
export async function startStandInRouter(shards: readonly string[]): Promise<StandInRouter> {
  const told: StandInRouter['told'] = [];
  const config: Record<string, Document[]> = {
    shards: shards.map((_id) => ({ _id, tags: [] })),
    collections: [],
    tags: [],
  };
  const answer = ({ $db: database, lsid: _session, ...command }: Document): Document => {
    const [name = ''] = Object.keys(command);
    if (/^(hello|ismaster)$/i.test(name)) return HELLO;
    if (name === 'endSessions') return { ok: 1 };
    if (name === 'find') {
      const firstBatch = database === 'config' ? (config[String(command['find'])] ?? []) : [];
      return { ok: 1, cursor: { id: Long.ZERO, ns: `${database}.${command['find']}`, firstBatch } };
    }
    told.push({ database, command });
    const { key, zone, min, max } = command;
    if (name === 'addShardToZone') {
      config['shards']?.find(({ _id }) => _id === command[name])?.['tags'].push(zone);
    }
    if (name === 'shardCollection') config['collections']?.push({ _id: command[name], key });
    if (name === 'updateZoneKeyRange') config['tags']?.push({ ns: command[name], min, max, tag: zone });
    return { ok: 1 };
  };

  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let received = Buffer.alloc(0);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= HEADER_BYTES && received.length >= received.readInt32LE(0)) {
        const length = received.readInt32LE(0);
        socket.write(replyTo(received.subarray(0, length), answer));
        received = received.subarray(length);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    uri: `mongodb://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    told,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

const HELLO = {
  ok: 1,
  ismaster: true,
  isWritablePrimary: true,
  helloOk: true,
  msg: 'isdbgrid',
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  logicalSessionTimeoutMinutes: 30,
  minWireVersion: 0,
  maxWireVersion: 17,
};

/** A command is a message with one section; the first one may be a legacy query. */
function replyTo(message: Buffer, answer: (command: Document) => Document): Buffer {
  const isQuery = message.readInt32LE(12) === QUERY;
  // Flags and the section's kind; or flags, a zero-terminated name and two numbers.
  const start = isQuery ? message.indexOf(0, HEADER_BYTES + 4) + 9 : HEADER_BYTES + 5;
  const command = BSON.deserialize(message.subarray(start, start + message.readInt32LE(start)));
  const body = BSON.serialize(answer(command));
  // Flags and the section's kind; or flags, no cursor, and one document.
  const before = Buffer.alloc(isQuery ? 20 : 5);
  if (isQuery) before.writeInt32LE(1, 16);
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeInt32LE(HEADER_BYTES + before.length + body.length, 0);
  header.writeInt32LE(message.readInt32LE(4), 8);
  header.writeInt32LE(isQuery ? REPLY : MESSAGE, 12);
  return Buffer.concat([header, before, body]);
}
