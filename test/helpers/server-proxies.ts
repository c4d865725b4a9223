/** Proxies in front of Redis and MongoDB for one test, with the addresses through them. */
import type { MongoClient } from 'mongodb';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

/** @param address of a single server, as with the option `oneRedis`. */
export async function startRedisProxy(address: string): Promise<TcpProxy & { url: string }> {
  const url = new URL(address);
  const proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) });
  url.host = `127.0.0.1:${proxy.port}`;
  return { ...proxy, url: url.href };
}

/** A proxy in front of the primary. The address prevents drivers from discovering other members. */
export async function startMongodbProxy(client: MongoClient): Promise<TcpProxy & { uri: string }> {
  const [server, ...others] = client.options.hosts;
  const name =
    others.length === 0
      ? server?.toString()
      : (await client.db().admin().command({ hello: 1 }))['primary'];
  const { hostname, port } = new URL(`http://${String(name)}`);
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  return { ...proxy, uri: `mongodb://127.0.0.1:${proxy.port}/?directConnection=true` };
}
