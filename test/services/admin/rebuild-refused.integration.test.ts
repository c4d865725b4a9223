import { describe, expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { TOPIC_CONFIG } from '#shared/kafka/client.ts';
import { useInstallation } from '#test/hooks.ts';
import { orderEvent } from '#test/events.ts';
import { eventually } from '#test/eventually.ts';
import { statesOf } from '#test/generations.ts';
import { applyAll, startSilentProjector } from '#test/projectors.ts';
import { times } from '#test/times.ts';
import { configureTopic, withAdmin } from '#test/topics.ts';
import { expectRefused, runCommand, startCommand } from './run-command.ts';

describe('a rebuild that would lose events', () => {
  const installation = useInstallation({ environments: 2, partitions: 2 });

  const applied = async (index: number): Promise<string> => {
    const environment = installation.config.environments[index] ?? '';
    const orders = times(20, (number) => orderEvent('o1', { storeId: `s${number}` }));
    await installation.publish(orders, environment);
    await applyAll(installation, environment);
    return environment;
  };
  const rebuild = (environment: string) =>
    runCommand(installation.env, `rebuild -e ${environment}`);

  it('is refused before it begins if the topic is compacted, or has lost its first messages', async () => {
    const environment = await applied(0);
    const topic = changesTopic(environment);
    await configureTopic(installation.kafka, topic, { 'cleanup.policy': 'compact' });
    await expectRefused(
      rebuild(environment),
      `topic ${topic} has cleanup.policy=compact; set it to delete`,
    );
    await configureTopic(installation.kafka, topic, TOPIC_CONFIG);
    await withAdmin(installation.kafka, async (admin) => {
      // The client must already know the topic.
      await admin.fetchTopicOffsets(topic);
      await admin.deleteTopicRecords({ topic, partitions: [{ partition: 1, offset: '3' }] });
    });
    await expectRefused(
      rebuild(environment),
      `topic ${topic} has lost its beginning: partition 1 begins at 3. A rebuild would lose earlier events`,
    );
    expect(await statesOf(installation, environment)).toEqual(['1 live']);
  });

  it('says that no projector fills the generation, and continues when run again', async () => {
    const environment = await applied(1);
    const words = `rebuild -e ${environment}`;
    const { process: command, result } = startCommand(installation.env, words);
    let said = '';
    command.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    await eventually('it says what is missing', () =>
      said.includes('no projector fills generation 2: start one of this release'),
    );
    command.kill('SIGINT');
    await expectRefused(result, 'interrupted: projectors continue to fill generation 2');
    expect(await statesOf(installation, environment)).toEqual(['1 live', '2 building']);

    const projector = await startSilentProjector(installation, environment);
    const again = await rebuild(environment);
    await projector.stop();
    expect([again.code, again.stderr.split('\n')[0]]).toEqual([
      0,
      `continues generation 2 of ${environment}`,
    ]);
    expect(await statesOf(installation, environment)).toEqual(['1 kept', '2 live']);
  });
});
