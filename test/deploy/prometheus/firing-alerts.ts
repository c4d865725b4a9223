/**
 * The alerts that would fire if the metrics of the services stayed unchanged for an hour, by
 * promtool and our rules.
 */
import type { Registry } from 'prom-client';
import { alerts, findPromtool, runRules } from './tools.ts';

const JOBS = ['store-data-projector', 'store-data-query'] as const;
const SAMPLE = /^(?<name>\w+)(?:\{(?<labels>.*)\})? (?<value>\S+)$/;

/**
 * @param registries of a projector and of a query service.
 * @returns promtool's output about alerts that fire; `null` without promtool.
 */
export async function firingAlerts(
  registries: readonly (Registry | undefined)[],
): Promise<string | null> {
  const promtool = await findPromtool();
  if (promtool === null) return null;
  const series = await Promise.all(
    JOBS.map(async (job, index) => {
      const labels = `job="${job}",instance="i"`;
      const text = (await registries[index]?.metrics()) ?? '';
      return [{ series: `up{${labels}}`, values: '1x60' }, ...seriesOf(text, labels)];
    }),
  );
  const alert_rule_test = alerts.map(({ alert }) => ({
    eval_time: '1h',
    alertname: alert,
    exp_alerts: [],
  }));
  return runRules(promtool, [{ interval: '1m', input_series: series.flat(), alert_rule_test }]);
}

/** Timestamps advance with the clock of the test, which begins at 0. */
function seriesOf(text: string, labels: string): { series: string; values: string }[] {
  return text.split('\n').flatMap((line) => {
    const { name = '', labels: own = '', value = '' } = SAMPLE.exec(line)?.groups ?? {};
    if (name === '' || !Number.isFinite(Number(value))) return [];
    const values = name.endsWith('_timestamp_seconds') ? '0+60x60' : `${Number(value)}x60`;
    return [
      { series: `${name}{${[labels, own].filter((part) => part !== '').join(',')}}`, values },
    ];
  });
}
