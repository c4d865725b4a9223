/** The form of a token request, read strictly. */
import { isUtf8 } from 'node:buffer';
import { Refused } from '../answers/refusal.ts';
import { type Pair, parseUrlEncoded } from '../parameters/url-encoded.ts';
import { invalidForm, unsupportedGrantType } from './refusals.ts';

export interface TokenForm {
  grantType: string;
  /** `null` asks for all that the key has. */
  scope: string | null;
}

/** The only one that is supported. */
export const GRANT_TYPE = 'client_credentials';

const CREDENTIALS: ReadonlySet<string | null> = new Set(['client_id', 'client_secret']);

/**
 * Reads a request's form. Parameters that we don't know are ignored, as RFC 6749 section 3.2 asks, an empty one
 * counts as absent, and none may come twice.
 * @throws {Refused} 400 `invalid_request`.
 */
export function readForm(contentType: string | undefined, body: unknown, query: string): TokenForm {
  if (mediaType(contentType) !== 'application/x-www-form-urlencoded') {
    refuse('the content type must be application/x-www-form-urlencoded');
  }
  refuseCredentials(parseUrlEncoded(query));
  const form = readFields(body instanceof Buffer ? body : Buffer.alloc(0));
  const grantType = form.get('grant_type');
  if (grantType === undefined) refuse('grant_type is required');
  return { grantType, scope: form.get('scope') ?? null };
}

/** Stops a request for anything else. @throws {Refused} 400 `unsupported_grant_type`. */
export function requireGrantType({ grantType }: TokenForm): void {
  if (grantType !== GRANT_TYPE) throw new Refused(unsupportedGrantType());
}

function refuse(detail: string): never {
  throw new Refused(invalidForm(detail));
}

function mediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase();
}

function readFields(body: Buffer): Map<string, string> {
  if (!isUtf8(body)) refuse('the body is not UTF-8');
  const fields = new Map<string, string>();
  const pairs = parseUrlEncoded(body.toString('utf8'));
  refuseCredentials(pairs);
  for (const { name, value } of pairs) {
    if (name === null || value === null) refuse('the body is not percent-encoded UTF-8');
    if (value === '') continue;
    if (fields.has(name)) refuse('a parameter is given more than once');
    fields.set(name, value);
  }
  return fields;
}

/** Credentials belong into the Authorization header: bodies and addresses end up in logs. */
function refuseCredentials(pairs: readonly Pair[]): void {
  // A value that cannot be decoded is one as well.
  const found = pairs.find(({ name, value }) => CREDENTIALS.has(name) && value !== '');
  if (found !== undefined) refuse(`${String(found.name)} belongs into the Authorization header, with Basic`);
}
