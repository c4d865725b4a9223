/** Events of the access topic: keys and the blocking of stores (CONTRACT section 3, "Keys"). */
import { Type } from 'typebox';
import { type EventMessage, readCloudEvent } from './cloud-event.ts';
import { absent, Instant } from './fields.ts';
import { parseInstant } from './instant.ts';
import { EventRejected } from './rejection.ts';
import { schemaCheck } from './schema-check.ts';

export const SCOPES = ['store', 'crm', 'order', 'menu'] as const;
export type Scope = (typeof SCOPES)[number];

export const KEY_STATUSES = ['active', 'inactive', 'revoked'] as const;
export type KeyStatus = (typeof KEY_STATUSES)[number];

const SecretHash = Type.String({ pattern: '^[0-9a-fA-F]{64}$' });
const Secrets = Type.Union([SecretHash, Type.Array(SecretHash, { maxItems: 2 })]);
/** When a secret ends, by its hash: an addition of ours, so that a deadline lies in the log as well. */
const SecretExpiry = Type.Record(SecretHash, Instant);
const Scopes = Type.Array(Type.Enum([...SCOPES]));

/** A revocation may leave out the rest: what takes rights away must never fail on what it takes away. */
const AccessKeyData = Type.Union([
  Type.Object({
    secret_sha256: Secrets,
    secret_expires_at: absent(SecretExpiry),
    scopes: Scopes,
    status: Type.Enum(['active', 'inactive']),
  }),
  Type.Object({
    secret_sha256: Type.Optional(Type.Union([Secrets, Type.Null()])),
    scopes: Type.Optional(Type.Union([Scopes, Type.Null()])),
    status: Type.Literal('revoked'),
  }),
]);
const StoreAccessData = Type.Object({ status: Type.Enum(['active', 'blocked']) });

const checkAccessKey = schemaCheck(AccessKeyData);
const checkStoreAccess = schemaCheck(StoreAccessData);

/** 1 to 128 printable ASCII characters without `:`. */
export const CLIENT_ID_PATTERN = /^[\x20-\x39\x3b-\x7e]{1,128}$/;

export interface AccessKeyChange {
  kind: 'access_key';
  clientId: string;
  storeId: string;
  sequence: number;
  /** Of the event. */
  source: string;
  eventId: string;
  /** SHA-256 of the valid secrets, lower-case hex; `null` where a revocation leaves them out. */
  secretHashes: string[] | null;
  /** When secrets end, by hash, in ISO 8601; what is not named keeps the end that it had. */
  secretExpiry: Readonly<Record<string, string>>;
  /** In the order of `SCOPES`; `null` where a revocation leaves them out. */
  scopes: Scope[] | null;
  status: KeyStatus;
}

export interface StoreAccessChange {
  kind: 'store_access';
  storeId: string;
  sequence: number;
  /** Of the event. */
  source: string;
  eventId: string;
  status: 'active' | 'blocked';
}

export type AccessChange = AccessKeyChange | StoreAccessChange;

/**
 * Reads a message of the access topic.
 * @throws {EventRejected} when it is poison.
 */
export function readAccessChange(message: EventMessage): AccessChange {
  const event = readCloudEvent(message);
  const { storeId, sequence } = event;
  if (event.action === 'changed' && event.entity === 'access_key') {
    if (!CLIENT_ID_PATTERN.test(event.subject)) {
      throw new EventRejected(
        'invalid_attribute',
        'subject is not 1 to 128 printable ASCII characters without ":"',
      );
    }
    const data = checkAccessKey(event.data);
    const hashes = data.secret_sha256 ?? null;
    return {
      kind: 'access_key',
      clientId: event.subject,
      storeId,
      sequence,
      source: event.source,
      eventId: event.id,
      secretHashes: hashes === null ? null : [...new Set([hashes].flat().map((hash) => hash.toLowerCase()))],
      secretExpiry: 'secret_expires_at' in data ? normalized(data.secret_expires_at ?? {}) : {},
      scopes: data.scopes ? SCOPES.filter((scope) => data.scopes?.includes(scope)) : null,
      status: data.status,
    };
  }
  if (event.action === 'changed' && event.entity === 'store_access') {
    if (event.subject !== storeId) {
      throw new EventRejected('invalid_attribute', 'subject of store_access is not the storeid');
    }
    return {
      kind: 'store_access',
      storeId,
      sequence,
      source: event.source,
      eventId: event.id,
      status: checkStoreAccess(event.data).status,
    };
  }
  throw new EventRejected(
    'unknown_type',
    'type is not store-data.access_key.changed or store-data.store_access.changed',
  );
}

/** Spelled in one way, so that equal deadlines are equal texts. */
function normalized(expiry: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(expiry).map(([hash, instant]) => [
      hash.toLowerCase(),
      new Date(parseInstant(instant) ?? 0).toISOString(),
    ]),
  );
}
