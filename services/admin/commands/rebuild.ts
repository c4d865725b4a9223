/** `rebuild`: makes the read models of an environment anew, beside those that answer, and takes them into use. */
import { Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { changesTopic } from '#shared/events/topics.ts';
import { remarkOtherErasures } from '../access/republish.ts';
import { withServers } from '../connection/servers.ts';
import { chooseEnvironment, environmentOption, jsonOption, wholeNumber } from '../options.ts';
import { formatDuration } from '../output/durations.ts';
import { markFailed, printResult } from '../output/print.ts';
import { describeUnattended, rebuild, type Rebuilt } from '../generations/rebuild.ts';
import { installationOf } from '../generations/installation.ts';
import { type Acceptance, comparisonJson, describeComparison } from '../generations/compare.ts';
import { ProgressLine } from '../output/progress-line.ts';
import { stopSignal } from '../stop-signal.ts';

/** The rate is that of the last seconds: a throttled rebuild has quick and slow times. */
const RATE_MS = 10_000;
const BAR = 24;

class Rate {
  readonly #samples: { at: number; applied: number }[] = [];

  /** Takes a sample. @returns how many a second; 0 while that is not known. */
  take(applied: number, at = performance.now()): number {
    this.#samples.push({ at, applied });
    while ((this.#samples[1]?.at ?? at) < at - RATE_MS) this.#samples.shift();
    const [first] = this.#samples;
    if (first === undefined || at === first.at) return 0;
    return ((applied - first.applied) * 1_000) / (at - first.at);
  }
}

/** A bar with numbers, rate and time left. */
function describeCatchUp(applied: number, total: number, perSecond: number): string {
  const share = total === 0 ? 1 : applied / total;
  const filled = Math.floor(share * BAR);
  const bar = `[${'#'.repeat(filled)}${'.'.repeat(BAR - filled)}]`;
  const parts = [`${bar} ${Math.floor(share * 100)} %`, `${applied} of ${total}`];
  if (perSecond > 0) {
    parts.push(
      `${Math.round(perSecond)} events/s`,
      `${formatDuration(((total - applied) / perSecond) * 1_000)} left`,
    );
  }
  return parts.join(', ');
}

/** An option that says which differences are accepted. */
export function acceptance(text: string): Acceptance {
  if (text === 'content' || text === 'all') return text;
  throw new InvalidArgumentError('Differences that can be accepted are content and all.');
}

export const rebuildCommand = () =>
  new Command('rebuild')
    .description('Make the read models anew beside the present ones, and take them into use')
    .addOption(environmentOption('environment; needed where there are several'))
    .option(
      '--share <percent>',
      'how much of its time a projector may spend on it while events arrive; 25, or as begun',
      wholeNumber(1, 100),
    )
    .option('--wait', 'compare, but leave it to "generations flip" to take it into use')
    .option(
      '--accept <what>',
      'take it into use in spite of differences: content, all',
      acceptance,
      'nothing',
    )
    .addOption(jsonOption())
    .action((flags) =>
      withServers(async (servers) => {
        const environment = chooseEnvironment(servers.config, flags.environment);
        const installation = await installationOf(servers, environment);
        await remarkOtherErasures(servers, environment, [changesTopic(environment)]);
        const line = new ProgressLine(process.stderr);
        const rate = new Rate();
        let number = 0;
        const rebuilt = await rebuild(installation, environment, {
          share: flags.share ?? null,
          accepted: flags.accept,
          wait: flags.wait === true,
          signal: stopSignal(),
          begun: (begun) => {
            ({ number } = begun);
            line.say(`${begun.isResumed ? 'goes on with' : 'builds'} generation ${number} of ${environment}`);
          },
          progress: ({ applied, total }) => line.show(describeCatchUp(applied, total, rate.take(applied))),
          unattended: () => line.say(describeUnattended(environment, number, installation.projectionVersion)),
          comparing: (stores, of) => line.show(`comparing: ${stores} of ${of} stores`),
        }).finally(() => line.clear());
        const { comparison, flipped } = rebuilt;
        printResult(
          flags,
          { environment, generation: number, flipped, comparison: comparisonJson(comparison) },
          `${describeComparison(comparison)}\n${outcome(environment, rebuilt, flags.wait === true)}`,
        );
        if (flipped === null && flags.wait !== true) markFailed();
      }),
    );

function outcome(environment: string, { number, flipped }: Rebuilt, wait: boolean): string {
  if (flipped !== null) {
    return `generation ${flipped.to} of ${environment} answers now; "rollback" goes back to ${flipped.from}`;
  }
  const command = `store-data generations flip ${number} --environment ${environment}`;
  return wait
    ? `generation ${number} of ${environment} is ready: "${command}" takes it into use`
    : `generation ${number} of ${environment} differs and is not taken into use: "${command} --accept content" or "--accept all" does so, "generations drop ${number}" gives it up`;
}
