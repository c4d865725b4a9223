/**
 * Every alert fires exactly when it should: promtool runs the rules over series as Prometheus would
 * collect them.
 */
import { expect, it } from 'vitest';
import { healthyFrom, HEALTHY, SCENARIOS, type SeriesValues } from './scenarios.ts';
import { alerts, findPromtool, type Rule, type RuleTest, runRules } from './tools.ts';

const promtool = await findPromtool();
const withPromtool = it.skipIf(promtool === null);

function testOf(alert: string | null, differing: SeriesValues, expected: object[]): RuleTest {
  const series = Object.entries({ ...HEALTHY, ...differing });
  const test = {
    name: alert ?? 'all is well',
    interval: '1m',
    input_series: series.flatMap(([name, values]) =>
      values === null ? [] : [{ series: name, values }],
    ),
    alert_rule_test: expected,
  };
  return { alert, test };
}

/** Fills the labels into the annotations of a rule. */
function alertOf(rule: Rule, labels: Record<string, string>): object {
  const filled = Object.entries(rule.annotations).map(([name, text]) => [
    name,
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_whole, label: string) => labels[label] ?? ''),
  ]);
  return {
    exp_labels: { ...rule.labels, ...labels },
    exp_annotations: Object.fromEntries(filled) as object,
  };
}

async function test(tests: RuleTest[]): Promise<void> {
  expect(await runRules(promtool ?? '', tests)).toBe('');
}

it('there is a scenario for every alert', () => {
  expect(SCENARIOS.map(({ alert }) => alert).toSorted()).toEqual(
    alerts.map(({ alert }) => alert).toSorted(),
  );
});

withPromtool(
  'every alert fires when it should, says where, and ends when what it is about is over',
  async () => {
    await test(
      SCENARIOS.map((scenario) => {
        const { alert, fires, endsAfter = 20 } = scenario;
        const rule = alerts.find((one) => one.alert === alert);
        if (rule === undefined) throw new Error(`there is no ${alert}`);
        const [, amount = '', unit = 'm'] = /^(\d+)([mh])$/.exec(fires.at) ?? [];
        const minute = Number(amount) * (unit === 'h' ? 60 : 1) + 1;
        const end = minute + endsAfter;
        const series = healthyFrom(minute, end + 1, fires);
        return testOf(alert, series, [
          {
            eval_time: fires.at,
            alertname: alert,
            exp_alerts: [alertOf(rule, fires.labels ?? {})],
          },
          { eval_time: `${end}m`, alertname: alert, exp_alerts: [] },
        ]);
      }),
    );
  },
);

withPromtool('no alert fires for what is nearly a reason', async () => {
  await test(
    SCENARIOS.map(({ alert, silent: { series, at } }) =>
      testOf(alert, series, [{ eval_time: at, alertname: alert, exp_alerts: [] }]),
    ),
  );
});

withPromtool('none fires in two hours in which all is well', async () => {
  const times = Array.from({ length: 12 }, (_, index) => `${index * 10}m`);
  await test([
    testOf(
      null,
      {},
      alerts.flatMap(({ alert }) =>
        times.map((at) => ({ eval_time: at, alertname: alert, exp_alerts: [] })),
      ),
    ),
  ]);
});
