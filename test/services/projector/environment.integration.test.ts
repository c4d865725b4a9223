import { setImmediate as nextTurn } from 'node:timers/promises';
import { MongoWriteConcernError } from 'mongodb';
import { pino } from 'pino';
import { beforeAll, expect, it } from 'vitest';
import { Supervisor, type SupervisorOptions } from '#projector/environment.ts';
import { createMetrics } from '#projector/metrics.ts';
import { StoreDataError } from '#shared/errors.ts';
import { createFirstGeneration, pointersIn, PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { useInstallation } from '#test/hooks.ts';
import { eventually } from '#test/installation.ts';

const installation = useInstallation({ environments: 2, partitions: 1 });
beforeAll(async () => {
  const { databases, config } = installation;
  for (const name of config.environments) await createFirstGeneration(databases, name, PROJECTION_VERSION);
});

/** A consumer that does nothing until the test makes it fail. */
function consumer(stopped: () => void) {
  const failure = Promise.withResolvers<never>();
  let isLive = true;
  failure.promise.catch(() => (isLive = false));
  return {
    failed: failure.promise,
    fail: failure.reject,
    isLive: () => isLive,
    stop: async () => stopped(),
  };
}

function optionsOf(project: SupervisorOptions['project']): SupervisorOptions {
  return {
    databases: installation.databases,
    config: { ...installation.config, own: new Map() },
    applyAccess: () => Promise.resolve(consumer(() => undefined)),
    prepare: () => Promise.resolve(),
    projectionVersion: PROJECTION_VERSION,
    logger: pino({ level: 'silent' }),
    metrics: createMetrics(),
    project,
  };
}

it('starts during an election of MongoDB, and follows the log after it', async () => {
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
  const supervisor = new Supervisor({ ...options, prepare }, common);
  try {
    await supervisor.start();
    await eventually('it follows', () => begun.length === 1);
  } finally {
    await supervisor.stop();
  }
});

it('stops only the environment with a misconfigured Kafka, and starts it again after the correction', async () => {
  const { config, databases } = installation;
  const [common = '', own = ''] = config.environments;
  const running = new Map<string, ReturnType<typeof consumer>>();
  const stopped: string[] = [];
  let isMistaken = true;
  const options = optionsOf(async ({ environment }) => {
    if (environment === own && isMistaken) throw new StoreDataError('topic_unsuitable', 'a mistake');
    const begun = consumer(() => stopped.push(environment));
    running.set(environment, begun);
    return begun;
  });
  const isShown = async () =>
    (await options.metrics.environmentStopped.get()).values.some(
      ({ labels, value }) => labels.environment === own && value === 1,
    );
  const withOwn = { ...options, config: { ...config, own: new Map([[own, { kafka: config.kafka }]]) } };
  const supervisors = [common, own].map((environment) => new Supervisor(withOwn, environment));
  try {
    for (const one of supervisors) await one.start();
    await eventually('it is shown', isShown);
    expect([...running.keys()]).toEqual([common]);
    isMistaken = false;
    await eventually('it is tried again', () => running.has(own));

    const former = running.get(own);
    former?.fail(new Error('another mistake'));
    await nextTurn();
    // A restart would stop the other environment, too.
    expect([former?.isLive(), ...supervisors.map((one) => one.isLive())]).toEqual([false, true, true]);
    // Triggers the next attempt.
    await pointersIn(databases.control).updateOne({ _id: own }, { $set: { others: [] } });
    await eventually('it is started again', () => running.get(own) !== former);
    expect(stopped).toEqual([own]);

    running.get(common)?.fail(new Error('a mistake on the common servers'));
    const failed = Promise.race(supervisors.map((one) => one.failed));
    await expect(failed).rejects.toThrow('a mistake on the common servers');
  } finally {
    for (const one of supervisors) await one.stop();
  }
  expect(stopped.toSorted()).toEqual([own, common, own].toSorted());
});
