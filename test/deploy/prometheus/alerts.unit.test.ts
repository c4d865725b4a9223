import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { knownMetrics } from '../known-metrics.ts';

interface Recording {
  record: string;
  expr: string;
}

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; action: string; runbook_url: string };
}

const file = new URL('../../../deploy/prometheus/alerts.yaml', import.meta.url);
const { groups } = parse(await readFile(file, 'utf8')) as {
  groups: { name: string; rules: (Rule | Recording)[] }[];
};
const all = groups.flatMap((group) => group.rules);
const rules = all.filter((rule) => 'alert' in rule);
const recordings = new Map(all.filter((rule) => 'record' in rule).map(({ record, expr }) => [record, expr]));
/** What an expression asks for, with what was recorded in its place. */
const wholeOf = (expr: string) => expr.replaceAll(/\bstore_data:[\w:]+/g, (record) => recordings.get(record) ?? record);

const RUNBOOKS = 'https://github.com/store-data/store-data-api/blob/main/docs/operations.md';

const operations = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
const anchors = [...operations.matchAll(/^##+ (.+)$/gm)].map(([, title = '']) =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-'),
);

describe('the alerting rules', () => {
  // `up` is Prometheus' own.
  const known = new Map([...knownMetrics(), ['up', new Set(['job', 'instance'])]]);
  const metricsOf = (expr: string) => [...new Set(expr.match(/\b(?:store_data_[a-z_]+|up(?=\{))/g) ?? [])];

  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s asks for what exists', (_name, rule) => {
    const expr = wholeOf(rule.expr);
    const names = metricsOf(expr);
    expect(expr).not.toMatch(/store_data:/);
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) expect([...known.keys()]).toContain(name);
    const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
      list.split(',').map((label) => label.trim()),
    );
    if (names.includes('up')) grouped.push('job', 'instance');
    const matched = [...expr.matchAll(/\{([a-z]+)(?:=|!)/g)].map(([, label = '']) => label);
    for (const label of [...grouped, ...matched]) {
      // Prometheus gives every series its instance.
      const labels = names.flatMap((name) => [...(known.get(name) ?? [])]);
      expect([...labels, 'instance']).toContain(label);
    }
    // What is said names no label that the expression does not answer.
    for (const [, label = ''] of rule.annotations.summary.matchAll(/\$labels\.(\w+)/g)) {
      expect(grouped).toContain(label);
    }
    expect(rule.annotations.action).toMatch(/\.$/);
    const [document, anchor] = rule.annotations.runbook_url.split('#');
    expect([document, anchors]).toEqual([RUNBOOKS, expect.arrayContaining([anchor])]);
    expect(['critical', 'warning']).toContain(rule.labels.severity);
    expect((expr.match(/\(/g) ?? []).length).toBe((expr.match(/\)/g) ?? []).length);
  });

  it.each([
    'store_data_access_pending',
    'store_data_answering_generation',
    'store_data_dead_letters_expired_total',
    'store_data_dead_letters_oldest_seconds',
    'store_data_dead_letters_total',
    'store_data_dead_letters_used_ratio',
    'store_data_environment_stopped',
    'store_data_freshness_seconds_bucket',
    'store_data_kafka_connected',
    'store_data_last_fetch_timestamp_seconds',
    'store_data_last_progress_timestamp_seconds',
    'store_data_mongodb_away',
    'store_data_partition_failing',
    'store_data_partition_lag',
    'store_data_partition_stopped',
    'store_data_redis_gate_open',
    'store_data_shed_requests_total',
    'store_data_signing_keys_current',
    'up',
  ])('watch %s', (name) => {
    expect(rules.flatMap(({ expr }) => metricsOf(wholeOf(expr)))).toContain(name);
  });
});
