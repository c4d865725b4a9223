import { expect, it } from 'vitest';
import { alerts } from '../../deploy/prometheus/tools.ts';
import { DRILLS } from './drills.ts';

it('every alert has a drill', () => {
  const drilled = new Set(DRILLS.flatMap(({ alerts: raised }) => raised));
  expect([...drilled].toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
});
