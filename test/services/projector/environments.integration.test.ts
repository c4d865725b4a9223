/** Projectors with different `ENVIRONMENTS` in one installation. */
import { expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { orderEvent } from '#test/events.ts';
import { useInstallation } from '#test/hooks.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp } from '#test/read-models.ts';

const FLOOD = 2_000;

const installation = useInstallation({ environments: 2, partitions: 2 });

it('a flood in one environment is read by its own projectors alone', async () => {
  const [production = '', sandbox = ''] = installation.config.environments;
  await using ofProduction = asDisposable(await startSilentProjector(installation, production));
  const topicsOf = async ({ metrics }: Pick<typeof ofProduction, 'metrics'>) => {
    const { values } = await metrics.lag.get();
    return new Set(values.map(({ labels }) => labels.topic));
  };

  await installation.publish(
    Array.from({ length: FLOOD }, (_, index) => orderEvent(`o${index}`, { sequence: 1 })),
    sandbox,
  );
  await installation.publish([orderEvent('o1', { sequence: 1 })], production);
  await caughtUp(installation, production);
  expect(await topicsOf(ofProduction)).not.toContain(changesTopic(sandbox));

  await using ofSandbox = asDisposable(await startSilentProjector(installation, sandbox));
  await caughtUp(installation, sandbox);
  expect(await topicsOf(ofSandbox)).not.toContain(changesTopic(production));
});

const asDisposable = <T extends { stop: () => Promise<void> }>(running: T) =>
  Object.assign(running, { [Symbol.asyncDispose]: () => running.stop() });
