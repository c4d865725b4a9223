/**
 * A Redis that requires TLS and passwords. A proxy of the tests terminates TLS, since not every
 * Redis supports it.
 */
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import type { Authority } from '#test/certificates.ts';
import { startRedisProcess } from '#test/redis-process.ts';

export const USER = 'query';
export const PASSWORD = 'p@ss:w/ord%';

/** Starts it with certificates of an authority for the server and its clients. */
export async function startSecureRedis(authority: Authority) {
  const redis = await startRedisProcess();
  await redis.client.call('ACL', 'SETUSER', USER, 'on', `>${PASSWORD}`, '~*', '&*', '+@all');
  await redis.client.call('ACL', 'SETUSER', 'default', 'resetpass');
  const issued = await authority.issue('redis');
  const server = createServer(
    { ...issued, ca: authority.cert, requestCert: true, rejectUnauthorized: true },
    (client) => {
      const upstream = connect(redis.port, '127.0.0.1');
      client.pipe(upstream).pipe(client);
      for (const [one, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        one.on('error', () => other.destroy());
        one.on('close', () => other.destroy());
      }
    },
  );
  server.on('tlsClientError', () => undefined);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    /** Without credentials; clients need a certificate. */
    url: `rediss://${address}`,
    urlOfUser: `rediss://${USER}:${encodeURIComponent(PASSWORD)}@${address}`,
    async close() {
      server.close();
      await redis.close();
    },
  };
}
