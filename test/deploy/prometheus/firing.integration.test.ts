/**
 * Every alert fires exactly when it should: promtool runs the rules over series as Prometheus would
 * collect them.
 */
import { expect, it } from 'vitest';
import { useFolder } from '#test/folder.ts';
import { SCENARIOS, seriesWith } from './scenarios.ts';
import { alerts, findPromtool, type Rule, type RuleTest, runRules } from './tools.ts';

const folder = useFolder({ ofEachTest: true });
const promtool = await findPromtool();
const withPromtool = it.skipIf(promtool === null);

function testOf(
  alert: string,
  input_series: ReturnType<typeof seriesWith>,
  alert_rule_test: object[],
): RuleTest {
  return { alert, test: { name: alert, interval: '1m', input_series, alert_rule_test } };
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
  expect(await runRules(promtool ?? '', tests, folder)).toBe('');
}

it('there is a scenario for every alert', () => {
  expect(SCENARIOS.map(({ alert }) => alert).toSorted()).toEqual(
    alerts.map(({ alert }) => alert).toSorted(),
  );
});

withPromtool(
  'every alert fires when it should, says where, and ends when all is well',
  async () => {
    await test(
      SCENARIOS.map(({ alert, fires, at, labels = {}, endsAfter = 20 }) => {
        const rule = alerts.find((one) => one.alert === alert);
        if (rule === undefined) throw new Error(`there is no ${alert}`);
        const minute = Number.parseInt(at, 10) + 1;
        const end = minute + endsAfter;
        return testOf(alert, seriesWith(fires, { minute, until: end + 1 }), [
          { eval_time: at, alertname: alert, exp_alerts: [alertOf(rule, labels)] },
          { eval_time: `${end}m`, alertname: alert, exp_alerts: [] },
        ]);
      }),
    );
  },
);

withPromtool('no alert fires for what is nearly a reason', async () => {
  await test(
    SCENARIOS.map(({ alert, silent, until = '1h' }) =>
      testOf(alert, seriesWith(silent), [{ eval_time: until, alertname: alert, exp_alerts: [] }]),
    ),
  );
});
