/**
 * Headers that two servers could read in two ways are refused, before anything is decided by them: HTTP/1.1 requires one
 * valid `Host` (RFC 9112 section 3.2; Node's own refusal would have no body), and of a header that may come once Node would
 * take the first where a proxy in front may have checked the last.
 */
import plugin from 'fastify-plugin';
import { invalidRequest, type Refusal, Refused } from '../answers/refusal.ts';

/** Those by which we decide. */
const ONCE = new Set(['host', 'authorization', 'content-type']);

/** `uri-host [ ":" port ]` of RFC 3986; it may be empty. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

export default plugin(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const { httpVersion, headers, rawHeaders } = request.raw;
      const refusal = repeatedHeader(rawHeaders) ?? wrongHost(headers.host, httpVersion);
      done(refusal === null ? undefined : new Refused(refusal));
    });
  },
  { name: 'unambiguous-headers', dependencies: ['request-id', 'errors'] },
);

/** Names and values alternate. */
function repeatedHeader(rawHeaders: readonly string[]): Refusal | null {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? '';
    if (!ONCE.has(name)) continue;
    if (seen.has(name)) return invalidRequest(`the header ${name} must come once`);
    seen.add(name);
  }
  return null;
}

function wrongHost(host: string | undefined, httpVersion: string): Refusal | null {
  if (host === undefined) return httpVersion === '1.1' ? invalidRequest('the Host header is required') : null;
  return HOST.test(host) ? null : invalidRequest('the Host header is not a host');
}
