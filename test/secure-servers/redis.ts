/**
 * A Redis that requires TLS and passwords. A proxy of the tests terminates TLS, since not every
 * Redis supports it.
 */
import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import type { Authority, Issued } from '#test/certificates.ts';
import { startRedisProcess } from '#test/redis-process.ts';

export const USER = 'query';
export const PASSWORD = 'p@ss:w/ord%';

/** Starts it with certificates of an authority for the server and its clients. */
export async function startSecureRedis(authority: Authority) {
  const redis = await startRedisProcess();
  await redis.client.call('ACL', 'SETUSER', USER, 'on', `>${PASSWORD}`, '~*', '&*', '+@all');
  await redis.client.call('ACL', 'SETUSER', 'default', 'resetpass');
  const servers: Server[] = [];
  const addressOf = async (issued: Issued) => {
    const server = await startTls(authority, issued, redis.port);
    servers.push(server);
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const address = await addressOf(await authority.issue('redis'));
  const expired = await addressOf(await authority.issue('redis', { expired: true }));
  return {
    /** Without credentials; clients need a certificate. */
    url: `rediss://${address}`,
    urlOfUser: `rediss://${USER}:${encodeURIComponent(PASSWORD)}@${address}`,
    /** With an expired certificate. */
    expiredUrl: `rediss://${expired}`,
    async close() {
      for (const server of servers) server.close();
      await redis.close();
    },
  };
}

/** Terminates TLS in front of a local port. */
async function startTls(authority: Authority, issued: Issued, port: number): Promise<Server> {
  const server = createServer(
    { ...issued, ca: authority.cert, requestCert: true, rejectUnauthorized: true },
    (client) => {
      const upstream = connect(port, '127.0.0.1');
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
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
