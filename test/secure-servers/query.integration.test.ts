import { once } from 'node:events';
import { get } from 'node:https';
import { connect, type TLSSocket } from 'node:tls';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { useMade } from '#test/hooks.ts';
import { useFolder } from '#test/folder.ts';
import { type Authority, type Issued, makeAuthority, writeFiles } from '#test/certificates.ts';
import { eventually } from '#test/eventually.ts';
import { startQueryService } from '#test/query-service.ts';

describe('the query service with HTTPS', () => {
  const folder = useFolder();
  let authority: Authority;
  let first: Issued;
  let refused = 0;
  const logger = pino(
    { level: 'warn' },
    { write: (line) => void (refused += Number(line.includes('the certificate cannot be read'))) },
  );
  const service = useMade(async () => {
    authority = await makeAuthority('authority');
    first = await authority.issue('first');
    const { cert, key } = await writeFiles(folder, first);
    const settings = { QUERY_TLS_CERT_FILE: cert, QUERY_TLS_KEY_FILE: key };
    return startQueryService({ logger, settings });
  });

  /** The status of `/health`, and the subject of the certificate. */
  function health(): Promise<{ status: number | undefined; name: string }> {
    const url = new URL('/health', service.url);
    url.protocol = 'https:';
    return new Promise((resolve, reject) => {
      const request = get(url, { ca: authority.cert, agent: false }, (response) => {
        const name = String((response.socket as TLSSocket).getPeerCertificate().subject.CN);
        response.resume();
        response.on('end', () => resolve({ status: response.statusCode, name }));
      });
      request.on('error', reject);
    });
  }

  it('serves its certificate, and a new one without a restart', async () => {
    expect(await health()).toEqual({ status: 200, name: 'first' });
    await writeFiles(folder, await authority.issue('second'));
    await eventually(
      'the new certificate is shown',
      async () => (await health()).name === 'second',
    );
  });

  it('knows which connections are idle', async () => {
    const { port } = new URL(service.url);
    const connected = connect({ host: 'localhost', port: Number(port), ca: authority.cert });
    connected.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(connected, 'data');
    // The server may not have finished the answer that has begun.
    const close = () => {
      service.app.server.closeIdleConnections();
      return connected.closed;
    };
    // Long before it would be closed for being idle.
    await eventually('it is closed', close, 20_000);
  });

  it('keeps its certificate while the files are invalid', async () => {
    const { name } = await health();
    await writeFiles(folder, { cert: 'nothing', key: 'nothing' });
    await eventually('the service has read them', () => refused > 0);
    expect((await health()).name).toBe(name);
    await writeFiles(folder, first);
    await eventually('the next good one is taken', async () => (await health()).name === 'first');
  });
});
