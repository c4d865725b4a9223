import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { RULES } from '../../deploy/prometheus/tools.ts';
import { quicken } from './quick-rules.ts';

/** What stands in the one text and, at the same place, in the other. */
const TIME = /\b\d+(?:ms|[smhd])?\b/g;

it('the rules of the drills are ours but for windows, offsets, waits and ages', () => {
  const rules = readFileSync(RULES, 'utf8');
  const quick = quicken(rules);
  expect(quick.split(TIME)).toEqual(rules.split(TIME));
  const [before, after] = [rules, quick].map((text) => text.match(TIME) ?? []);
  const changes = new Map(
    before?.flatMap((time, index) =>
      time === after?.[index] ? [] : [[time, after?.[index]] as const],
    ),
  );
  expect(Object.fromEntries(changes)).toEqual({
    '1m': '500ms',
    '2m': '1000ms',
    '5m': '2500ms',
    '10m': '5000ms',
    '15m': '7500ms',
    '30m': '15000ms',
    '1h': '30000ms',
    '2h': '60000ms',
    '6h': '180000ms',
    '1d': '720000ms',
    '3d': '2160000ms',
    '120': '12',
    '300': '30',
    '900': '90',
  });
  // None was overlooked.
  expect(quick.match(/(?:\[|offset |for: )\d+[smhd]\b/g)).toBeNull();
});
