import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { knownMetrics } from '../known-metrics.ts';
import { alerts, recordings } from './tools.ts';

/** An expression with its recording rules expanded. */
const wholeOf = (expr: string) =>
  expr.replaceAll(
    /\bstore_data:[\w:]+/g,
    (name) => recordings.find(({ record }) => record === name)?.expr ?? name,
  );

const RUNBOOKS = 'https://github.com/store-data/store-data-api/blob/main/docs/operations.md';

const operations = await readFile(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
const anchors = [...operations.matchAll(/^##+ (.+)$/gm)].map(([, title = '']) =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-'),
);

describe('the alerting rules', () => {
  // Prometheus itself makes `up`.
  const known = new Map([...knownMetrics(), ['up', new Set(['job', 'instance'])]]);
  const metricsOf = (expr: string) => [
    ...new Set(expr.match(/\b(?:store_data_[a-z_]+|up(?=\{))/g) ?? []),
  ];

  it.each(alerts.map((rule) => [rule.alert, rule] as const))(
    '%s queries known metrics and labels',
    (_name, rule) => {
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
        // Prometheus adds `instance` to every series.
        const labels = names.flatMap((name) => [...(known.get(name) ?? [])]);
        expect([...labels, 'instance']).toContain(label);
      }
      // The summary names only labels of the expression.
      for (const [, label = ''] of (rule.annotations['summary'] ?? '').matchAll(
        /\$labels\.(\w+)/g,
      )) {
        expect(grouped).toContain(label);
      }
      expect(rule.annotations['action']).toMatch(/\.$/);
      const [document, anchor] = (rule.annotations['runbook_url'] ?? '').split('#');
      expect([document, anchors]).toEqual([RUNBOOKS, expect.arrayContaining([anchor])]);
      expect(['critical', 'warning']).toContain(rule.labels['severity']);
      expect((expr.match(/\(/g) ?? []).length).toBe((expr.match(/\)/g) ?? []).length);
    },
  );

  it('stand in docs/operations.md in the same order', () => {
    const named = operations.matchAll(/`(StoreData[A-Z]\w+)`/g);
    expect([...new Set([...named].map(([, name]) => name))]).toEqual(
      alerts.map(({ alert }) => alert),
    );
  });
});
