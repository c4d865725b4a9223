/** Runs each example producer as its README says, and reads its events through the API. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { changesTopic } from '#shared/events/topics.ts';
import { aCategory } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { run } from '#test/run.ts';
import { eventually } from '#test/eventually.ts';
import { endsOf } from '#test/topics.ts';
import {
  prepared,
  prepareJava,
  preparePython,
  type Program,
  settled,
} from '../clients/programs.ts';

const folderOf = (language: string) =>
  join(import.meta.dirname, '../../docs/examples/produce-events', language);

/** A download over a slow connection takes up to this long. */
const FETCH_LIMIT_MS = 240_000;

/** The preparations run in parallel. */
const PROGRAMS = {
  TypeScript: settled(typescript()),
  Python: settled(preparePython(folderOf('python'), 'produce-events', 'produce_events.py')),
  Java: settled(
    prepareJava(folderOf('java'), 'ProduceEvents.java', {
      title: 'the Kafka client for Java',
      name: 'produce-events-java',
      downloadBytes: 21_000_000,
    }),
  ),
};
type Language = keyof typeof PROGRAMS;

async function typescript(): Promise<Program> {
  const cwd = folderOf('typescript');
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd });
  await run('npm', ['run', 'check'], { cwd });
  return { file: process.execPath, args: ['produce.ts'], cwd };
}

const service = useQueryService({ partitions: 12 });

interface Changes {
  results: { id: string; deleted: boolean }[];
  next: string;
}

/** The number of messages in each partition. */
async function messages(): Promise<number[]> {
  const { kafka, environment } = service.installation;
  const ends = await endsOf(kafka, changesTopic(environment));
  return [...ends].toSorted(([a], [b]) => a - b).map(([, end]) => end);
}

it.for(Object.keys(PROGRAMS) as Language[])(
  '%s: the API answers its events, and they lie in the partition of their store',
  { timeout: FETCH_LIMIT_MS },
  async (language, context) => {
    const { file, args, cwd, env } = await prepared<Program>(PROGRAMS[language], context);
    const { installation, api } = service;
    const store = `pos-${language}`;
    const token = await service.tokenOf({ clientId: language, storeId: store });
    const before = await messages();
    await service.apply([aCategory('c1', {}, store)]);
    const changes = async (query = '') =>
      (await api.get(`/api/order/changes${query}`, token)).json as Changes;
    const { next } = await changes();
    const partition = (await messages()).findIndex((count, index) => count > (before[index] ?? 0));

    const settings = {
      KAFKA_BROKERS: installation.config.kafka.brokers.join(','),
      ENVIRONMENT: installation.environment,
      STORE_ID: store,
    };
    // Clients write warnings about a slow broker to standard error.
    expect(await run(file, args, { cwd, env: { ...env, ...settings } })).toBe(
      '5 events are in Kafka\n',
    );
    const six = before.map((count, index) => (index === partition ? count + 6 : count));
    expect(await messages()).toEqual(six);

    await eventually('the last order is deleted', async () =>
      (await changes(`?after=${next}`)).results.some(({ id, deleted }) => id === 'o2' && deleted),
    );
    const { results } = await api.list('/api/order/list', token);
    expect(results).toMatchObject([{ id: 'o1', status: 'ready', total: '39.90' }]);
    expect((await api.get('/api/store/info/', token)).json).toMatchObject({
      name: 'Pizzaria Bela',
    });
  },
);
