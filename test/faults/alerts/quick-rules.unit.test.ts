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
  const [before = [], after = []] = [rules, quick].map((text) => text.match(TIME) ?? []);
  const changed = before.filter((time, at) => time !== after[at]);
  expect(new Set(changed.filter((time) => /\d$/.test(time)))).toEqual(
    new Set(['120', '300', '900']),
  );
  // None was overlooked.
  expect(quick.match(/(?:\[|offset |for: )\d+[smhd]\b/g)).toBeNull();
});
