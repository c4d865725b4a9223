/** Basic credentials (RFC 7617), which real clients send as they are or form-encoded (RFC 6749 section 2.3.1). */
import { isUtf8 } from 'node:buffer';
import { decode } from '../parameters/url-encoded.ts';

export interface Credentials {
  clientId: string;
  clientSecret: string;
}

/** The readings of an `Authorization` header, as sent and form-decoded; `null` when it holds no Basic credentials. */
export function basicCredentials(
  header: string | undefined,
): { asSent: Credentials; decoded: Credentials } | null {
  const encoded = header === undefined ? null : /^Basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header);
  if (encoded === null) return null;
  const bytes = Buffer.from(encoded[1] ?? '', 'base64');
  if (!isUtf8(bytes)) return null;
  const text = bytes.toString('utf8');
  const colon = text.indexOf(':');
  if (colon === -1) return null;
  const asSent = { clientId: text.slice(0, colon), clientSecret: text.slice(colon + 1) };
  const clientId = decode(asSent.clientId);
  const clientSecret = decode(asSent.clientSecret);
  const decoded = clientId === null || clientSecret === null ? asSent : { clientId, clientSecret };
  return { asSent, decoded };
}
