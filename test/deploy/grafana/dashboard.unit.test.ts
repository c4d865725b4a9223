import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { knownMetrics } from '../known-metrics.ts';

interface Panel {
  title: string;
  targets?: { expr: string; legendFormat: string }[];
}

const file = new URL('../../../deploy/grafana/store-data.json', import.meta.url);
const { panels } = JSON.parse(await readFile(file, 'utf8')) as { panels: Panel[] };
const queries = panels.flatMap(({ title, targets = [] }) =>
  targets.map(
    ({ expr, legendFormat }) => [`${title}: ${legendFormat}`, expr, legendFormat] as const,
  ),
);
/** Labels that Prometheus adds to every series. */
const ADDED = ['job', 'instance'];

describe('the dashboard', () => {
  const known = knownMetrics();

  it.each(queries)('%s queries known metrics and labels', (_name, expr, legend) => {
    const names = expr.match(/\b(?:store_data|process|nodejs)_[a-z0-9_]+/g) ?? [];
    expect(names.length).toBeGreaterThan(0);
    const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
      list.split(/,\s*/),
    );
    const matched = [...expr.matchAll(/[{,]([a-z]+)(?:=|!)/g)].map(([, label = '']) => label);
    const labels = new Set(ADDED);
    for (const name of names) {
      expect([...known.keys()]).toContain(name);
      for (const label of known.get(name) ?? []) labels.add(label);
    }
    for (const label of [...grouped, ...matched]) expect([...labels]).toContain(label);
    for (const [, label = ''] of legend.matchAll(/\{\{(\w+)\}\}/g))
      expect(grouped).toContain(label);
    expect(expr.match(/\(/g)?.length).toBe(expr.match(/\)/g)?.length);
  });
});
