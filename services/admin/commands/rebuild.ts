/** `rebuild`: makes the read models of an environment anew, beside those that answer, and takes them into use. */
import { Command, InvalidArgumentError } from '@commander-js/extra-typings';
import { withServers } from '../connection/servers.ts';
import { chooseEnvironment, environmentOption, jsonOption, wholeNumber } from '../options.ts';
import { markFailed, printResult } from '../output/print.ts';
import { describeUnattended } from '../rebuild/catch-up.ts';
import { type Acceptance, comparisonJson, describeComparison } from '../rebuild/comparison.ts';
import { installationOf } from '../rebuild/installation.ts';
import { ProgressLine } from '../output/progress-line.ts';
import { describeCatchUp, Rate } from '../rebuild/progress.ts';
import { rebuild, type Rebuilt } from '../rebuild/rebuild.ts';
import { stopSignal } from '../stop-signal.ts';

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
