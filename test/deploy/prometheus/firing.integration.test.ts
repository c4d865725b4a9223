/** Every alert fires when it should, and not otherwise: promtool runs the rules over what Prometheus would see. */
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { findPromtool, RULES, runRules } from './tools.ts';
import { HEALTHY, SCENARIOS, type SeriesValues } from './scenarios.ts';

interface Rule {
  alert: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

const { groups } = parse(await readFile(RULES, 'utf8')) as {
  groups: { rules: (Rule | { record: string })[] }[];
};
const rules = groups.flatMap((group) => group.rules).filter((rule) => 'alert' in rule);

const promtool = await findPromtool(process.env);
if ('missing' in promtool) process.stderr.write(`alerts are not tried: ${promtool.missing}\n`);

function testOf(name: string, differing: SeriesValues, expected: object[]): object {
  const series = Object.entries({ ...HEALTHY, ...differing });
  return {
    name,
    interval: '1m',
    input_series: series.flatMap(([name, values]) => (values === null ? [] : [{ series: name, values }])),
    alert_rule_test: expected,
  };
}

/** Labels stand in the annotations of a rule. */
function alertOf(rule: Rule, labels: Record<string, string>): object {
  const filled = Object.entries(rule.annotations).map(([name, text]) => [
    name,
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_whole, label: string) => labels[label] ?? ''),
  ]);
  return { exp_labels: { ...rule.labels, ...labels }, exp_annotations: Object.fromEntries(filled) as object };
}

async function test(tests: object[]): Promise<void> {
  if ('missing' in promtool) return;
  expect(await runRules(promtool.file, tests)).toBe('');
}

it('has a scenario for every alert', () => {
  expect(SCENARIOS.map(({ alert }) => alert).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
});

it.skipIf('missing' in promtool)('every alert fires when it should, and says where', async () => {
  await test(
    SCENARIOS.map(({ alert, fires: { series, at, labels = {} } }) => {
      const rule = rules.find((one) => one.alert === alert);
      if (rule === undefined) throw new Error(`there is no ${alert}`);
      return testOf(alert, series, [{ eval_time: at, alertname: alert, exp_alerts: [alertOf(rule, labels)] }]);
    }),
  );
});

it.skipIf('missing' in promtool)('no alert fires for what only comes near', async () => {
  await test(
    SCENARIOS.map(({ alert, silent: { series, at } }) =>
      testOf(alert, series, [{ eval_time: at, alertname: alert, exp_alerts: [] }]),
    ),
  );
});

it.skipIf('missing' in promtool)('none fires in two hours in which all is well', async () => {
  const times = Array.from({ length: 12 }, (_, index) => `${index * 10}m`);
  await test([
    testOf(
      'all is well',
      {},
      rules.flatMap(({ alert }) => times.map((at) => ({ eval_time: at, alertname: alert, exp_alerts: [] }))),
    ),
  ]);
});
