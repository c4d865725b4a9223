/**
 * The example programs as they run at companies: behind a gateway whose address has a path and
 * which ends requests after 8 s, and with credentials for the host in ~/.netrc.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { anOrder } from '#test/changes.ts';
import { times } from '#test/times.ts';
import { useFolder } from '#test/folder.ts';
import { useQueryService } from '#test/hooks.ts';
import { send, startHttpProxy } from '#test/http-proxy.ts';
import { eventually } from '#test/eventually.ts';
import { FOLLOWERS, LANGUAGES } from '../deploy/clients/packed.ts';

const CUT_MS = 8_000;
/** Together more than a pipe holds. */
const RECORDS = 1_500;
/** Two cuts, `npm ci` over a slow connection, and a busy machine. */
const LIMIT_MS = 400_000;

const service = useQueryService();
const folder = useFolder();

beforeAll(async () => {
  const netrc = 'machine 127.0.0.1 login somebody password else\n';
  await writeFile(join(folder, '.netrc'), netrc, { mode: 0o600 });
  await service.setKey({ clientId: 'example' });
  await service.apply(times(RECORDS, (index) => anOrder(`o${index}`)));
});

/** Knows the API below `/prod` alone, and answers 504 where it takes longer. */
async function startGateway() {
  const answers: { wait: number; status: number }[] = [];
  const proxy = await startHttpProxy(
    service.url,
    async ({ request, response, ask }) => {
      const { searchParams, pathname } = new URL(request.url ?? '', 'http://gateway');
      const late = { status: 504, headers: {}, body: 'upstream request timeout' };
      const answer = pathname.startsWith('/prod/')
        ? await Promise.race([ask(), sleep(CUT_MS, late)])
        : { status: 404, headers: {}, body: 'no route' };
      answers.push({ wait: Number(searchParams.get('wait') ?? 0), status: answer.status });
      send(response, answer);
    },
    '/prod',
  );
  return { ...proxy, answers };
}

async function follows(
  client: string,
  [file = '', ...args]: string[],
  env: Record<string, string>,
): Promise<void> {
  await using gateway = await startGateway();
  const given = {
    ...process.env,
    ...env,
    BASE_URL: gateway.url,
    CLIENT_ID: 'example',
    CLIENT_SECRET: 'secret',
    COPY: join(folder, `${client}.sqlite`),
    HOME: folder,
  };
  const follower = spawn(file, args, { env: given, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [follower.stdout, follower.stderr])
    stream.on('data', (chunk) => (said += String(chunk)));
  const waitsOf = (status: number) =>
    gateway.answers.flatMap((answer) => (answer.status === status ? answer.wait : []));
  /** At least two: a busy machine may answer a wait of 7 s too late as well. */
  const expectHalved = () => {
    const cut = waitsOf(504);
    expect(cut).toEqual([30, 15, 7, 3, 1].slice(0, Math.max(2, cut.length)));
  };
  const isHeld = () =>
    gateway.answers.some(({ status, wait }) => status === 200 && wait > 0 && wait * 1_000 < CUT_MS);
  try {
    const isDone = () => follower.exitCode !== null || isHeld();
    await eventually('a shorter wait is answered', isDone, 180_000);
    expect(follower.exitCode, said).toBeNull();
    expectHalved();
    expect(waitsOf(404)).toEqual([]);
    const name = `of-${client}`;
    await service.apply([anOrder(name)]);
    await eventually('the change is copied', async () => {
      const printing = spawn(file, [...args, '--print'], {
        env: given,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      // A reader that is late gets everything.
      await Promise.race([once(printing, 'exit'), sleep(2_000)]);
      const printed = await text(printing.stdout);
      const isCopied = printed.includes(`"${name}"`);
      if (isCopied) expect(printed.match(/\n/g)?.length).toBeGreaterThan(RECORDS);
      return isCopied;
    });
    expectHalved();
  } finally {
    if (follower.kill('SIGTERM')) await once(follower, 'exit');
  }
}

it.concurrent.for(LANGUAGES)(
  'follow-orders in %s',
  { timeout: LIMIT_MS },
  async (language, context) => {
    const { command, env } = await FOLLOWERS[language](context, join(folder, 'project'));
    await follows(language, command, env);
  },
);
