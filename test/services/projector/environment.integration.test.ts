import { MongoWriteConcernError } from 'mongodb';
import { pino } from 'pino';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { createSupervisor, type SupervisorOptions } from '#projector/environment.ts';
import { createMetrics } from '#projector/metrics.ts';
import { StoreDataError, unavailable } from '#shared/errors.ts';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { createFirstGeneration, PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { orderEvent } from '#test/events.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/eventually.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp } from '#test/read-models.ts';

const installation = useInstallation({ environments: 2, partitions: 1 });
beforeAll(async () => {
  const { databases, config } = installation;
  for (const name of config.environments)
    await createFirstGeneration(databases, name, PROJECTION_VERSION);
});

/** A consumer that does nothing until the test makes it fail. */
function consumer(stopped: () => void) {
  let isLive = true;
  return { hang: () => (isLive = false), isLive: () => isLive, stop: async () => stopped() };
}

function optionsOf(project: SupervisorOptions['project']): SupervisorOptions {
  return {
    databases: installation.databases,
    config: installation.config,
    applyAccess: () => Promise.resolve(consumer(() => undefined)),
    prepare: () => Promise.resolve(),
    projectionVersion: PROJECTION_VERSION,
    logger: pino({ level: 'silent' }),
    metrics: createMetrics(),
    project,
  };
}

it('an environment starts during an election of MongoDB, and follows the log after it', async () => {
  const [common = ''] = installation.config.environments;
  const begun: string[] = [];
  let attempts = 0;
  const options = optionsOf(async ({ environment }) => {
    begun.push(environment);
    return consumer(() => undefined);
  });
  const prepare = async () => {
    attempts += 1;
    const writeConcernError = { code: 11_602, errmsg: 'operation was interrupted' };
    if (attempts === 1) throw new MongoWriteConcernError({ ok: 1, writeConcernError });
  };
  const supervisor = createSupervisor({ ...options, prepare }, common);
  try {
    await supervisor.start();
    await eventually('it follows', () => begun.length === 1);
  } finally {
    await supervisor.stop();
  }
});

it('a projector stops only the environment with a configuration error that shows after the start, and continues after its correction', async () => {
  const [common = '', mistaken = ''] = installation.config.environments;
  const running = new Map<string, ReturnType<typeof consumer>>();
  const stopped: string[] = [];
  let state: 'away' | 'unsuitable' | 'right' = 'away';
  const options = optionsOf(async ({ environment }) => {
    const begun = consumer(() => stopped.push(environment));
    running.set(environment, begun);
    return begun;
  });
  const prepare = async (environment: string) => {
    if (environment === common || state === 'right') return;
    if (state === 'away') throw unavailable('MongoDB is away');
    throw new StoreDataError('topic_unsuitable', 'a mistake');
  };
  const isShown = async () =>
    (await options.metrics.environmentStopped.get()).values.some(
      ({ labels, value }) => labels.environment === mistaken && value === 1,
    );
  const supervisors = [common, mistaken].map((environment) =>
    createSupervisor({ ...options, prepare }, environment),
  );
  try {
    for (const one of supervisors) await one.start();
    state = 'unsuitable';
    await eventually('it is shown', isShown);
    expect([...running.keys()]).toEqual([common]);
    state = 'right';
    await eventually('it is tried again', () => running.has(mistaken));
    running.get(common)?.hang();
    expect(supervisors.map((one) => one.isLive())).toEqual([false, true]);
  } finally {
    for (const one of supervisors) await one.stop();
  }
  expect(stopped.toSorted()).toEqual([common, mistaken].toSorted());
});

it('the events of an environment are read by its own projectors alone', async () => {
  const { environments } = installation.config;
  for (const environment of environments)
    await installation.publish([orderEvent('o1')], environment);
  for (const environment of environments) {
    const projector = await startSilentProjector(installation, environment);
    onTestFinished(() => projector.stop());
    await caughtUp(installation, environment);
    const { values } = await projector.metrics.lag.get();
    const topics = values.map(({ labels }) => labels.topic);
    expect(new Set(topics)).toEqual(new Set([changesTopic(environment), accessTopic(environment)]));
  }
});
