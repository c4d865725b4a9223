/** Events of the access topic: keys and the blocking of stores (rules R14.1 to R14.6). */
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

const SecretHash = Type.String({ title: 'SHA-256 in hex', pattern: '^[0-9a-fA-F]{64}$' });
const Secrets = Type.Union([SecretHash, Type.Array(SecretHash, { maxItems: 2 })]);
/** When a secret ends, by its hash: an addition of ours, so that a deadline lies in the log as well. */
const SecretExpiry = Type.Record(SecretHash, Type.Union([Instant, Type.Null()]), {
  title: 'date-times by hash',
});

export const AccessKeyData = Type.Object({
  secret_sha256: Secrets,
  secret_expires_at: absent(SecretExpiry),
  scopes: Type.Array(Type.Enum([...SCOPES])),
  status: Type.Enum(['active', 'inactive', 'revoked']),
});
export const StoreAccessData = Type.Object({ status: Type.Enum(['active', 'blocked']) });

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
  /** SHA-256 of the valid secrets, lower-case hex; `null` in a revocation: the key keeps what it has. */
  secretHashes: string[] | null;
  /** When secrets end, by hash, in ISO 8601; what is not named keeps the end that it had. */
  secretExpiry: Readonly<Record<string, string>>;
  /** In the order of `SCOPES`; `null` in a revocation: the key keeps what it has. */
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

/** Reads a message of the access topic. @throws {EventRejected} when it is poison. */
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
    return {
      kind: 'access_key',
      clientId: event.subject,
      storeId,
      sequence,
      source: event.source,
      eventId: event.id,
      ...readKeyData(event.data),
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

type KeyData = Pick<AccessKeyChange, 'secretHashes' | 'secretExpiry' | 'scopes' | 'status'>;

/** What takes rights away must never fail on what it takes away: nothing of a revocation is read but its status. */
function readKeyData(given: unknown): KeyData {
  if (isRevocation(given)) return { secretHashes: null, secretExpiry: {}, scopes: null, status: 'revoked' };
  const { secret_sha256: hashes, secret_expires_at: expiry, scopes, status } = checkAccessKey(given);
  return {
    secretHashes: [...new Set([hashes].flat().map((hash) => hash.toLowerCase()))],
    secretExpiry: normalized(expiry ?? {}),
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    status,
  };
}

function isRevocation(data: unknown): boolean {
  return typeof data === 'object' && data !== null && 'status' in data && data.status === 'revoked';
}

/** Spelled in one way, so that equal deadlines are equal texts. */
function normalized(expiry: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(expiry).flatMap(([hash, instant]) =>
      instant === null ? [] : [[hash.toLowerCase(), new Date(parseInstant(instant) ?? 0).toISOString()]],
    ),
  );
}
