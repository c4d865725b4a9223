/** Projectors with different `ENVIRONMENTS` in one installation. */
import { expect, it, onTestFinished } from 'vitest';
import { accessTopic, changesTopic } from '#shared/events/topics.ts';
import { orderEvent } from '#test/events.ts';
import { useInstallation } from '#test/hooks.ts';
import { startSilentProjector } from '#test/projectors.ts';
import { caughtUp } from '#test/read-models.ts';

const installation = useInstallation({ environments: 2 });

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
