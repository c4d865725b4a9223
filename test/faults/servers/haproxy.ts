/**
 * HAProxy with the configuration of deploy/haproxy, but without Docker's names: tests add query
 * services one by one.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { findOnPath, freePorts } from '#local/stack/program.ts';
import { type Command, startGuarded } from '#local/stack/process.ts';
import { debianPackages } from '#test/debian-packages.ts';
import { eventually } from '#test/eventually.ts';
import { succeeds } from '#test/succeeds.ts';
import { times } from '#test/times.ts';
import { makeHome } from './home.ts';

/** The addresses of a query service for clients and for readiness checks. */
export interface Backend {
  url: string;
  operations: string;
}

const CONFIGURATION = new URL('../../../deploy/haproxy/haproxy.cfg', import.meta.url);
const PLACES = 10;

export type Haproxy = Awaited<ReturnType<typeof startHaproxy>>;

export async function startHaproxy() {
  const home = await makeHome();
  const [port = 0] = await freePorts(1);
  const socket = join(home.path, 'haproxy.sock');
  const file = join(home.path, 'haproxy.cfg');
  await writeFile(file, withoutDocker(await readFile(CONFIGURATION, 'utf8'), port, socket));
  const { logFile } = await home.room('haproxy');
  const program = await findHaproxy();
  const held = await startGuarded(
    home.context.guard,
    { ...program, args: ['-db', '-f', file] },
    logFile,
  );
  const places = new Map<Backend, string>();
  const free = times(PLACES, (index) => `query/query${index + 1}`);
  const tell = async (...commands: string[]) => {
    const answer = await ask(socket, commands.join('; '));
    // HAProxy echoes a change; any other output is an error.
    const complaints = answer
      .split('\n')
      .filter((line) => line !== '' && !/changed|no need to/.test(line));
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
  };
  const close = async () => {
    await held.stop(0);
    await home.close();
  };
  try {
    await eventually('HAProxy is there', () => succeeds(ask(socket, 'show info')), 20_000);
  } catch (error) {
    const log = await readFile(logFile, 'utf8');
    await close();
    throw new Error(`HAProxy does not start: ${log}`, { cause: error });
  }
  return {
    url: `http://127.0.0.1:${port}`,
    /** Adds a service, which gets requests while it is ready. */
    async add(backend: Backend) {
      const place = free.shift();
      if (place === undefined) throw new Error('there is no place left');
      places.set(backend, place);
      await tell(
        `set server ${place} addr 127.0.0.1 port ${new URL(backend.url).port}`,
        `set server ${place} check-port ${new URL(backend.operations).port}`,
        `set server ${place} state ready`,
      );
    },
    async remove(backend: Backend) {
      const place = places.get(backend);
      if (place === undefined) return;
      places.delete(backend);
      await tell(`set server ${place} state maint`);
      free.push(place);
    },
    close,
  };
}

/** The configuration with a test port, and server slots instead of names. */
function withoutDocker(configuration: string, port: number, socket: string): string {
  const replaced = [
    [/^global$/m, `global\n    stats socket ${socket} level admin`],
    [/^resolvers docker\n(?: .*\n)*/m, ''],
    // A slow readiness answer on a busy machine does not mean that the service is dead.
    [/^( *)mode http$/m, '$1mode http\n$1timeout check 30s'],
    [/bind :8080/, `bind 127.0.0.1:${port}`],
    [/ init-addr \S+ resolvers docker/, ''],
    [
      /server-template query \d+ query:8080/,
      `server-template query ${PLACES} 127.0.0.1:1 disabled`,
    ],
  ] as const;
  return replaced.reduce((text, [what, by]) => {
    if (!what.test(text))
      throw new Error(`deploy/haproxy/haproxy.cfg has nothing like ${what.source}`);
    return text.replace(what, by);
  }, configuration);
}

async function ask(socket: string, commands: string): Promise<string> {
  const connection = createConnection(socket);
  connection.end(`${commands}\n`);
  return text(connection);
}

/** The program from PATH, or from the package of this Debian or Ubuntu. */
async function findHaproxy(): Promise<Omit<Command, 'args'>> {
  const installed = findOnPath('haproxy', {
    ...process.env,
    PATH: `${process.env['PATH']}:/usr/sbin`,
  });
  if (installed !== undefined) return { file: installed };
  const folder = await debianPackages(['haproxy'], { missing: true });
  const LD_LIBRARY_PATH = join(folder, 'usr', 'lib', 'x86_64-linux-gnu');
  return { file: join(folder, 'usr', 'sbin', 'haproxy'), env: { LD_LIBRARY_PATH } };
}
