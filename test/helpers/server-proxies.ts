/** Redis and MongoDB behind proxies of one test's own, and the addresses by which a program goes through them. */
import type { MongoClient } from 'mongodb';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** @param address of one server: a test that uses this asks for an installation with `oneRedis`. */
export async function startRedisProxy(address: string): Promise<TcpProxy & { url: string }> {
  const url = new URL(address);
  const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${proxy.port}`;
  return { ...proxy, url: url.href };
}

/** Before the server that takes writes, of those that the client knows; a driver that goes through it looks for no others. */
export async function startMongodbProxy(client: MongoClient): Promise<TcpProxy & { uri: string }> {
  const [server, ...others] = client.options.hosts;
  const name = others.length === 0 ? server?.toString() : (await client.db().admin().command({ hello: 1 }))['primary'];
  const { hostname, port } = new URL(`http://${String(name)}`);
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  return { ...proxy, uri: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true` };
}
