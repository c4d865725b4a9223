/**
 * docs/upgrading.md, step by step: no request fails, and no follower misses a change. The release
 * before is this one; the next is a copy of it with a higher projection version.
 */
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exampleEvent } from '#shared/events/describe-fields.ts';
import { PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { useFolder } from '#test/folder.ts';
import { eventually } from '#test/eventually.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { caughtUp } from '#test/read-models.ts';
import { killAll, listening, type ServiceProcess, startService } from '#test/service-process.ts';
import { runProcess } from '../services/admin/run-command.ts';
import { type Key, Traffic } from './traffic.ts';

type Release = 'before' | 'this' | 'next';
type Name = 'projector' | 'query';
interface Running {
  process: ServiceProcess;
  url: string;
  operations: string;
}

// Each step continues from the previous one, so that none can be retried.
describe('an upgrade', { timeout: 240_000, retry: 0 }, () => {
  const folders = { before: process.cwd(), this: process.cwd(), next: useFolder() };
  let installation: Installation;
  let traffic: Traffic;
  /** The last started process of each service. */
  const running = {} as Record<`${Release} ${Name}`, Running>;
  const started: ServiceProcess[] = [];

  function makeNextRelease(): void {
    const folder = folders.next;
    for (const path of ['services', 'shared', 'docs', 'package.json', 'tsconfig.json']) {
      cpSync(path, join(folder, path), { recursive: true });
    }
    const file = join(folder, 'shared/read-models/generation.ts');
    const raised = `PROJECTION_VERSION = ${PROJECTION_VERSION + 1};`;
    writeFileSync(file, readFileSync(file, 'utf8').replace(/PROJECTION_VERSION = \d+;/, raised));
    symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
  }

  /** Runs a command of a release. @throws with its error output if it fails. */
  async function run(release: Release, words: string): Promise<string> {
    const program = join(folders[release], 'services/admin/main.ts');
    const { code, stdout, stderr } = await runProcess(installation.env, words, { program });
    if (code !== 0) throw new Error(`${words}: ${stderr}`);
    return stdout;
  }

  /** Starts a service and waits until it listens. */
  async function start(release: Release, name: Name, settings: object = {}): Promise<Running> {
    const program = join(folders[release], `services/${name}/main.ts`);
    const process = startService(name, { ...installation.env, ...settings }, 'info', program);
    started.push(process);
    const service = { process, ...(await listening(process)) };
    running[`${release} ${name}`] = service;
    return service;
  }

  const readiness = async ({ operations }: Running): Promise<[number, string | undefined]> => {
    const answer = await fetch(`${operations}/ready`);
    const { reason } = (await answer.json()) as { reason?: string };
    return [answer.status, reason];
  };
  const ready = (service: Running) =>
    eventually('it is ready', async () => (await readiness(service))[0] === 200);

  /** Like a proxy: only ready services get requests, and a stopping one gets no more. */
  async function startReady(release: Release, name: Name, settings?: object): Promise<void> {
    const service = await start(release, name, settings);
    await ready(service);
    if (name === 'query') traffic.send(service.url);
  }

  async function stop(release: Release, name: Name): Promise<void> {
    const { process: stopped, url } = running[`${release} ${name}`];
    if (name === 'query') traffic.leave(url);
    stopped.kill('SIGTERM');
    const { code } = await stopped.ended;
    expect(code, JSON.stringify(stopped.lines.slice(-20))).toBe(0);
  }

  let sequence = 100;
  /**
   * Changes an order, creates another and deletes the previous one, and waits until the follower
   * got the changes.
   */
  async function change(): Promise<void> {
    sequence += 1;
    const order = { entity: 'order', storeId: 's1', sequence } as const;
    const { data } = exampleEvent('order');
    await installation.publish([
      { ...order, subject: 'kept', data: { ...data, display_id: String(sequence) } },
      { ...order, subject: `o${sequence}`, data },
      { ...order, subject: `o${sequence - 1}`, action: 'deleted' },
    ]);
    await caughtUp(installation);
    await eventually(
      `the follower has heard of ${sequence}`,
      async () => traffic.copy.get('order/kept')?.['display_id'] === String(sequence),
    );
    expect([...traffic.copy.keys()].toSorted()).toEqual(['order/kept', `order/o${sequence}`]);
    expect(traffic.failures).toEqual([]);
  }

  async function replace(name: Name, former: Release, by: Release): Promise<void> {
    await startReady(by, name);
    await stop(former, name);
    await change();
  }

  async function moveTraffic(from: Running, to: Running): Promise<void> {
    traffic.send(to.url);
    traffic.leave(from.url);
    await change();
  }

  beforeAll(async () => {
    makeNextRelease();
    // A connection that a client just takes is still answered, and then closed.
    installation = await createInstallation({ settings: { SHUTDOWN_DELAY_MS: '300' } });
    const { environment } = installation;
    const services = [await start('before', 'query'), await start('before', 'projector')] as const;
    await Promise.all(services.map(ready));
    const made = await run(
      'before',
      `keys create -s s1 -e ${environment} --scopes store,order --json`,
    );
    const { data } = exampleEvent('store');
    await installation.publish([{ entity: 'store', storeId: 's1', subject: 's1', sequence, data }]);
    await caughtUp(installation);
    traffic = new Traffic(services[0].url, JSON.parse(made) as Key);
    await change();
  }, 240_000);
  afterAll(async () => {
    await traffic?.stop();
    await killAll(started);
    await installation?.close();
  });

  it('replaces projectors, then query services', async () => {
    await replace('projector', 'before', 'this');
    await replace('query', 'before', 'this');
  });

  it('rolls back, query services first', async () => {
    await replace('query', 'this', 'before');
    await replace('projector', 'this', 'before');
  });

  it('refuses in one sentence to replace the live projector if the projection differs', async () => {
    const projector = await start('next', 'projector');
    const query = await start('next', 'query');
    const { msg = '' } = await projector.process.logged(({ level }) => level === 40);
    expect(msg).toContain('belongs to another release');
    expect(await readiness(projector)).toEqual([503, msg]);
    expect((await readiness(query))[0]).toBe(503);
    await stop('next', 'projector');
    await change();
  });

  it('rebuilds the read models while the former ones answer, moves the traffic, and can roll back', async () => {
    const { environment } = installation;
    await startReady('next', 'projector', { PROJECTOR_SIDE_BY_SIDE: 'true' });
    await run('next', `rebuild --environment ${environment} --accept content`);
    const { 'next query': query, 'before query': former } = running;
    await ready(query);
    // Back to the former release, which continues with its generation, and forward again.
    await moveTraffic(former, query);
    await moveTraffic(query, former);
    traffic.send(query.url);
    await stop('before', 'query');
    await stop('before', 'projector');
    await change();
  });

  it('refuses in one sentence a rollback after which the former release would answer wrongly', async () => {
    const words = `has projection version ${PROJECTION_VERSION + 1}, this release has ${PROJECTION_VERSION}`;
    await expect(run('before', `verify --environment ${installation.environment}`)).rejects.toThrow(
      words,
    );
  });
});
