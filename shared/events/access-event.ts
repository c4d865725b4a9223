/**
 * Events of the access topic: keys, and what operators decided about stores (rules R14.1 to R14.9).
 */
import { Type } from 'typebox';
import { type CloudEvent, type EventMessage, readCloudEvent } from './cloud-event.ts';
import { Instant, optional, Quantity, Whole } from './fields.ts';
import { parseInstant } from './instant.ts';
import { EventRejected, invalidAttribute, schemaChecks } from './rejection.ts';

export const SCOPES = ['store', 'crm', 'order', 'menu'] as const;
export type Scope = (typeof SCOPES)[number];

export const KEY_STATUSES = ['active', 'inactive', 'revoked'] as const;
export type KeyStatus = (typeof KEY_STATUSES)[number];

const HASH = /^[0-9a-fA-F]{64}$/;
const SecretHash = Type.String({ title: 'SHA-256 in hex', pattern: HASH.source });
const Secrets = Type.Union([SecretHash, Type.Array(SecretHash, { maxItems: 2 })]);
const SecretExpiry = Type.Record(SecretHash, Type.Union([Instant, Type.Null()]), {
  title: 'date-times by hash',
});

export const ACCESS_SCHEMAS = {
  access_key: Type.Object({
    secret_sha256: Secrets,
    secret_expires_at: optional(SecretExpiry),
    scopes: Type.Array(Type.Enum([...SCOPES])),
    status: Type.Enum([...KEY_STATUSES]),
  }),
  store_access: Type.Object({ status: Type.Enum(['active', 'blocked']) }),
  store_quota: Type.Object({
    requests: Type.Integer({ minimum: 1, maximum: 1_000_000_000 }),
    window_seconds: optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
  }),
  store_erasure: Type.Object({
    erased_at: Instant,
    /** Of the partitions of the topic of changes. */
    ends: Type.Array(
      Type.Object({
        partition: Whole,
        end: Quantity,
        last: Type.Object({
          offset: Whole,
          /** Set by the publisher of that message; its readers cut it to what a `Date` can hold. */
          timestamp: Type.Integer({ minimum: -8.64e15, maximum: Number.MAX_SAFE_INTEGER }),
          digest: Type.String({ title: 'digest', pattern: '^[A-Za-z0-9_-]{22}$' }),
        }),
      }),
    ),
  }),
};
export type AccessEntity = keyof typeof ACCESS_SCHEMAS;

const checks = schemaChecks(ACCESS_SCHEMAS);

export const CLIENT_ID_PATTERN = /^[\x20-\x39\x3b-\x7e]{1,128}$/;

interface About {
  storeId: string;
  sequence: number;
  source: string;
  eventId: string;
}

export interface AccessKeyChange extends About {
  kind: 'access_key';
  clientId: string;
  /**
   * SHA-256 of the valid secrets, lower-case hex; `null` in a revocation: the key keeps what it
   * has.
   */
  secretHashes: string[] | null;
  /** When secrets end, by hash, in ISO 8601. A secret that is not named keeps its end. */
  secretExpiry: Readonly<Record<string, string>>;
  /** In the order of `SCOPES`; `null` in a revocation: the key keeps what it has. */
  scopes: Scope[] | null;
  status: KeyStatus;
}

export interface StoreAccessChange extends About {
  kind: 'store_access';
  status: 'active' | 'blocked';
}

export type OwnQuota = { requests: number; window_seconds?: number } | null;

export interface StoreQuotaChange extends About {
  kind: 'store_quota';
  quota: OwnQuota;
}

export interface StoreErasureChange extends About {
  kind: 'store_erasure';
  at: Date;
  /** Of the partitions of the topic of changes; their topic is that of the environment. */
  ends: Type.Static<typeof ACCESS_SCHEMAS.store_erasure>['ends'];
}

export type AccessChange =
  AccessKeyChange | StoreAccessChange | StoreQuotaChange | StoreErasureChange;

export function readAccessChange(message: EventMessage): AccessChange {
  const event = readCloudEvent(message);
  const { action, entity, data, subject, storeId, sequence, source, id: eventId } = event;
  const about = { storeId, sequence, source, eventId };
  if (action === 'changed' && entity === 'access_key') {
    if (!CLIENT_ID_PATTERN.test(subject)) {
      throw invalidAttribute('subject is not 1 to 128 printable ASCII characters without ":"');
    }
    return { kind: entity, clientId: subject, ...about, ...readKeyData(data) };
  }
  if (action === 'changed' && entity === 'store_access') {
    checkSubject(event);
    return { kind: entity, ...about, status: checks.store_access(data).status };
  }
  if (entity === 'store_quota') {
    checkSubject(event);
    if (action === 'deleted') return { kind: entity, ...about, quota: null };
    const { requests, window_seconds: window } = checks.store_quota(data);
    const ownWindow = typeof window === 'number' ? { window_seconds: window } : {};
    return { kind: entity, ...about, quota: { requests, ...ownWindow } };
  }
  if (action === 'changed' && entity === 'store_erasure') {
    checkSubject(event);
    const { erased_at, ends } = checks.store_erasure(data);
    return { kind: entity, ...about, at: new Date(parseInstant(erased_at) ?? 0), ends };
  }
  throw new EventRejected(
    'unknown_type',
    `type is not store-data.<entity>.changed of ${Object.keys(ACCESS_SCHEMAS).join(', ')}, nor store-data.store_quota.deleted`,
  );
}

function checkSubject({ entity, subject, storeId }: CloudEvent): void {
  if (subject === storeId) return;
  throw invalidAttribute(`subject of ${entity} is not the storeid`);
}

/** A revocation must never fail on other fields: only its status is read. */
function readKeyData(given: unknown): Omit<AccessKeyChange, 'kind' | 'clientId' | keyof About> {
  if (
    typeof given === 'object' &&
    given !== null &&
    'status' in given &&
    given.status === 'revoked'
  ) {
    return { secretHashes: null, secretExpiry: {}, scopes: null, status: 'revoked' };
  }
  const {
    secret_sha256: hashes,
    secret_expires_at: expiry,
    scopes,
    status,
  } = checks.access_key(given);
  return {
    secretHashes: [...new Set([hashes].flat().map((hash) => hash.toLowerCase()))],
    secretExpiry: normalized(expiry ?? {}),
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    status,
  };
}

/**
 * One spelling, so that equal deadlines are equal texts. The schema leaves other names than hashes
 * unchecked: they are ignored.
 */
function normalized(expiry: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(expiry).flatMap(([hash, instant]) =>
      instant === null || !HASH.test(hash)
        ? []
        : [[hash.toLowerCase(), new Date(parseInstant(instant) ?? 0).toISOString()]],
    ),
  );
}
