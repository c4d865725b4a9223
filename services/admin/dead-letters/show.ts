/** `dead-letters list` and `show`: the letters and their reasons; personal data only with `--raw`. */
import { describeError, isUnavailable, notFound } from '#shared/errors.ts';
import { entityInType } from '#shared/events/cloud-event.ts';
import { REJECTION_MEANINGS } from '#shared/events/rejection.ts';
import { type DeadLetter, lettersIn } from '#shared/read-models/collections.ts';
import { openServers, type Servers } from '../servers.ts';
import {
  countLetters,
  deadLetterSources,
  describeCount,
  findSummaries,
  letterId,
  readShown,
  reasonOption,
} from './letters.ts';
import { describeLetter, letterJson, messagesOf, toBuffer, withMessage } from './messages.ts';
import { command, environmentOption, limitOption, WrongUsage } from '../options.ts';
import {
  isJson,
  printResult,
  remark,
  renderFacts,
  shortened,
  tableOf,
  formatAge,
} from '../output.ts';

export const listCommand = () =>
  command('list', 'List dead letters in the order of their log')
    .addOption(environmentOption('only those of an environment'))
    .addOption(reasonOption('only those of one reason'))
    .addOption(limitOption(50))
    .action(async (flags) => {
      await using servers = await openServers();
      const sources = await deadLetterSources(servers, [], flags);
      const selection = { reason: flags.reason };
      const rows: Row[] = [];
      for (const source of sources) {
        const limit = flags.limit - rows.length;
        if (limit <= 0) break;
        const about = new Map<string, About>();
        const found = await readShown(source, async (own, session) => {
          const summaries = await findSummaries(own, selection, { session }).limit(limit).toArray();
          const ids = summaries.map(({ _id }) => _id);
          const whole = lettersIn(own.db).find(
            { _id: { $in: ids } },
            { session, batchSize: LETTERS_BATCH },
          );
          for await (const letter of whole) about.set(letter._id, aboutOf(letter));
          return summaries;
        });
        for (const letter of found) {
          // While an erasure is under way the stored letter still has what must not be shown.
          const known = letter.cut && letter.key === null ? undefined : about.get(letter._id);
          rows.push({ ...letterJson(letter), ...(known ?? { entity: null, subject: null }) });
        }
      }
      const count = await countLetters(sources, selection);
      const table = tableOf(rows, [
        'id',
        ['ABOUT', ({ entity, subject }) => entity && `${entity} ${subject ?? ''}`],
        ['REASON', reasonInWords],
        ['DEAD FOR', ({ dead_at }) => formatAge(dead_at)],
      ]);
      const first = rows.length < count.letters ? `; shown are the first ${rows.length}` : '';
      printResult(
        { total: count.total, by_reason: count.byReason, dead_letters: rows },
        `${rows.length > 0 ? `${table}\n` : ''}${describeCount(count)}${first}`,
      );
    });

type Row = ReturnType<typeof letterJson> & About;

function reasonInWords({ reason, gathered, detail }: Row): string {
  return `${reason}${gathered === null ? '' : `, ${gathered.count} together`}: ${detail}`;
}

/** Letters hold up to a mebibyte each. */
const LETTERS_BATCH = 20;

/** The record that a letter's event is about; `null` if its message cannot be read. */
interface About {
  entity: string | null;
  subject: string | null;
}

function aboutOf(letter: DeadLetter): About {
  const { type, subject = null } = describeLetter(letter).attributes;
  return { entity: entityInType(type), subject };
}

export const showCommand = () =>
  command('show', 'Show one dead letter')
    .argument('<id>', 'its id: <topic>/<partition>/<offset>', letterId)
    .option('--raw', 'write only the bytes of the message to standard output')
    .action(async (id, flags) => {
      if (flags.raw && isJson()) throw new WrongUsage('--raw goes with no other option');
      await using servers = await openServers();
      const letter = await complete(servers, await findLetter(servers, id));
      if (flags.raw) process.stdout.write(letter.value === null ? '' : toBuffer(letter.value));
      else printResult(toJson(letter), toText(letter));
    });

async function findLetter(servers: Servers, id: string): Promise<DeadLetter> {
  for (const source of await deadLetterSources(servers, [id])) {
    const [letter] = await readShown(source, ({ db }, session) =>
      lettersIn(db).find({ _id: id }, { session }).toArray(),
    );
    if (letter !== undefined) return letter;
  }
  throw notFound(`there is no dead letter ${id}`);
}

async function complete(servers: Servers, letter: DeadLetter): Promise<DeadLetter> {
  if (!letter.cut || letter.gathered !== undefined) return letter;
  if (letter.erased) {
    remark('store-data: its customer is deleted: the message is neither kept nor shown');
    return letter;
  }
  try {
    const found = await messagesOf(await servers.logReader(letter.topic), [letter]);
    const [message] = found.get(letter._id) ?? [];
    if (message !== undefined) return withMessage(letter, message);
    remark('store-data: Kafka no longer has its message');
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    remark(`store-data: its message cannot be read from Kafka now: ${describeError(error)}`);
  }
  return letter;
}

function toText(letter: DeadLetter): string {
  const { attributes, structure } = describeLetter(letter);
  const { gathered } = letter;
  const cut = letter.cut ? ` (${letter.kept_bytes} are kept here; Kafka has all of it)` : '';
  const facts = renderFacts({
    id: letter._id,
    reason: letter.reason,
    meaning: meaningOf(letter.reason),
    detail: letter.detail,
    key: letter.key && shortened(toBuffer(letter.key).toString('utf8'), 80),
    ...(gathered === undefined
      ? { size: `${letter.value_bytes} bytes${cut}` }
      : {
          'stands for': `${gathered.count} messages at offsets ${letter.offset} to ${gathered.last_offset}`,
        }),
    published: letter.published_at,
    'dead since': letter.dead_at,
    headers: letter.headers.map(({ name }) => shortened(name, 64)),
    ...Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [`event ${name}`, value]),
    ),
  });
  const shape = structure === null ? 'the message is not JSON' : structure.join('\n');
  return `${facts}\n${shape}\n`;
}

function meaningOf(reason: string): string {
  return new Map<string, string>(Object.entries(REJECTION_MEANINGS)).get(reason) ?? '(none known)';
}

function toJson(letter: DeadLetter): object {
  return {
    ...letterJson(letter),
    meaning: meaningOf(letter.reason),
    headers: letter.headers.map(({ name }) => name),
    ...describeLetter(letter),
  };
}
