/** The alerting rules and the dashboard query metrics and labels that exist. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { knownMetrics } from './known-metrics.ts';
import { alerts, recordings } from './prometheus/tools.ts';

const read = (path: string) => readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
const RUNBOOKS = 'https://github.com/store-data/store-data-api/blob/main/docs/operations.md';

const { panels } = JSON.parse(read('deploy/grafana/store-data.json')) as {
  panels: { title: string; targets?: { expr: string; legendFormat: string }[] }[];
};
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr, legendFormat: legend }) => ({ title: `${title}: ${legend}`, expr, legend })),
);

const operations = read('docs/operations.md');
const titles = operations.match(/(?<=^##+ ).+$/gm) ?? [];
const anchors = titles.map((title) =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-'),
);

/** Prometheus itself makes `up`, and adds `job` and `instance` to every series. */
const known = new Map([...knownMetrics(), ['up', new Set<string>()]]);
const ADDED = ['job', 'instance'];

/** Asserts that metrics and labels exist, and that it groups by the labels that a text names. */
function expectKnown(expr: string, named: IterableIterator<RegExpExecArray>): void {
  const names: string[] =
    expr.match(/\b(?:(?:store_data|process|nodejs)_[a-z0-9_]+|up(?=\{))/g) ?? [];
  expect(names.length).toBeGreaterThan(0);
  expect([...known.keys()]).toEqual(expect.arrayContaining(names));
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
    list.split(/,\s*/),
  );
  const matched = [...expr.matchAll(/[{,]([a-z]+)(?:=|!)/g)].map(([, label = '']) => label);
  const labels = [...ADDED, ...names.flatMap((name) => [...(known.get(name) ?? [])])];
  expect(labels).toEqual(expect.arrayContaining([...grouped, ...matched]));
  expect(expr.match(/\(/g)?.length).toBe(expr.match(/\)/g)?.length);
  const given = names.includes('up') ? [...grouped, ...ADDED] : grouped;
  expect(given).toEqual(expect.arrayContaining([...named].map(([, label]) => label)));
}

it.each(queries)('the dashboard’s "$title" queries known metrics and labels', (query) => {
  expectKnown(query.expr, query.legend.matchAll(/\{\{(\w+)\}\}/g));
});

it.each(alerts)(
  'the alert $alert queries known metrics and labels, and names its runbook',
  ({ expr, annotations, labels }) => {
    const whole = expr.replaceAll(
      /\bstore_data:[\w:]+/g,
      (name) => recordings.find(({ record }) => record === name)?.expr ?? name,
    );
    expect(whole).not.toMatch(/store_data:/);
    expectKnown(whole, (annotations['summary'] ?? '').matchAll(/\$labels\.(\w+)/g));
    const [document, anchor] = (annotations['runbook_url'] ?? '').split('#');
    expect([document, anchors]).toEqual([RUNBOOKS, expect.arrayContaining([anchor])]);
    expect(['critical', 'warning']).toContain(labels['severity']);
  },
);

it('the alerts stand in docs/operations.md in the same order', () => {
  const named = operations.match(/(?<=`)StoreData[A-Z]\w+(?=`)/g);
  expect([...new Set(named)]).toEqual(alerts.map(({ alert }) => alert));
});
