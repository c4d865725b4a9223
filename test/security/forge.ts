/** Forges tokens with arbitrary claims, signed with the service's key, another key or none. */
import { createPrivateKey, type JsonWebKey, type KeyObject, sign } from 'node:crypto';

/** Base64url of a text, or of an object's JSON. */
export function part(value: object | string): string {
  return Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString(
    'base64url',
  );
}

/** The unverified claims of a token. */
export function opened(token: string): {
  header: Record<string, unknown>;
  claims: Record<string, unknown>;
} {
  const [header, claims] = token
    .split('.')
    .slice(0, 2)
    .map(
      (text) => JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>,
    );
  if (header === undefined || claims === undefined) throw new Error('no token');
  return { header, claims };
}

/** A token signed with ES256, from a header and claims as objects or JSON text. */
export function signed(key: KeyObject, header: object | string, claims: object | string): string {
  const text = `${part(header)}.${part(claims)}`;
  const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
  return `${text}.${signature.toString('base64url')}`;
}

/** The first key of a JWK set, with which the service signs. */
export function signingKey(jwkSet: string): KeyObject {
  const [jwk] = (JSON.parse(jwkSet) as { keys: JsonWebKey[] }).keys;
  if (jwk === undefined) throw new Error('no key');
  return createPrivateKey({ key: jwk, format: 'jwk' });
}
