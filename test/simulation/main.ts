/** `npm run simulation`: runs histories of the simulated world for some seconds, or replays one. */
import { parseArgs } from 'node:util';
import { simulate } from './simulate.ts';
import { runHistory } from './world.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '20' },
    from: { type: 'string' },
    shrink: { type: 'boolean', default: true },
  },
  allowNegative: true,
});
/** What is found within a time does not depend on what else the machine does. */
const processorMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const say = (line: string) => process.stdout.write(`${line}\n`);

if (values.seed !== undefined) {
  const { steps, trace, violation } = await runHistory(Number(values.seed));
  if (values.trace || violation !== null) for (const line of trace) say(line);
  say(`seed ${values.seed}: ${violation?.stack ?? `${steps} steps, every promise was kept`}`);
  process.exitCode = violation === null ? 0 : 1;
} else {
  const first = values.from === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.from);
  const { summary, broken } = await simulate(first, Number(values.seconds) * 1_000, values.shrink, processorMs);
  for (const line of broken ?? []) say(line);
  say(summary);
  process.exitCode = broken === null ? 0 : 1;
}
