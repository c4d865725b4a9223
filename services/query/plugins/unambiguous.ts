/**
 * Requests that two servers could read in two ways are refused, before anything is decided by them: HTTP/1.1 requires one
 * valid `Host` (RFC 9112 section 3.2; Node's own refusal would have no body), and of a header that may come once Node would
 * take the first where a proxy in front may have checked the last. A `#` in a target is nothing that a client sends: where one
 * server cuts there another goes on reading.
 */
import plugin from 'fastify-plugin';
import { invalidRequest, Refused } from '../answers/refusal.ts';

/** Those by which we decide. */
const ONCE = new Set(['host', 'authorization', 'content-type']);

/** `uri-host [ ":" port ]` of RFC 3986; it may be empty. */
const HOST = /^(?:\[[0-9A-Fa-f:.]+\]|[\w.~!$&'()*+,;=%-]*)(?::\d*)?$/;

export default plugin(
  async (app) => {
    app.addHook('onRequest', (request, _reply, done) => {
      const { url, httpVersion, headers, rawHeaders } = request.raw;
      const mistake =
        (url?.includes('#') === true ? 'the request target holds a #: encode it as %23' : null) ??
        repeatedHeader(rawHeaders) ??
        wrongHost(headers.host, httpVersion);
      done(mistake === null ? undefined : new Refused(invalidRequest(mistake)));
    });
  },
  { name: 'unambiguous', dependencies: ['errors'] },
);

/** Names and values alternate. */
function repeatedHeader(rawHeaders: readonly string[]): string | null {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]?.toLowerCase() ?? '';
    if (!ONCE.has(name)) continue;
    if (seen.has(name)) return `the header ${name} must come once`;
    seen.add(name);
  }
  return null;
}

function wrongHost(host: string | undefined, httpVersion: string): string | null {
  if (host === undefined) return httpVersion === '1.1' ? 'the Host header is required' : null;
  return HOST.test(host) ? null : 'the Host header is not a host';
}
