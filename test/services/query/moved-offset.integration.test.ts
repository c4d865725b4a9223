import { expect, it } from 'vitest';
import { anOrder, aStore } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';

const service = useQueryService();

const CREATED_AT = '2026-03-01T02:00:00Z';
const store = (timezone_offset: string) =>
  aStore('s1', { timezone_offset, created_at: CREATED_AT });

it('a moved offset shows exact instants again, which local time could not show in another offset', async () => {
  const instants = [
    '9999-12-31T22:30:00Z',
    '9999-12-31T23:59:59-12:00',
    '0000-01-01T00:30:00+14:00',
  ];
  const order = (id: string, at: string) =>
    anOrder(id, {
      scheduled_for: at,
      status_history: [{ status: 'ready', at }],
      created_at: CREATED_AT,
    });
  const shown = async () => {
    const answers = await Promise.all(
      instants.map((_, index) => service.get(`/api/order/details/?order_id=edge${index}`)),
    );
    return answers.map(({ json }) => {
      const { scheduled_for, status_history } = json as Record<string, unknown>;
      expect(status_history).toMatchObject([{ at: scheduled_for }]);
      return scheduled_for;
    });
  };
  // They arrive while the store's offset puts them outside of the representable years.
  await service.apply([store('+03:00'), ...instants.map((at, index) => order(`edge${index}`, at))]);
  expect(await shown()).toEqual([
    '9999-12-31T23:59:59',
    '9999-12-31T23:59:59',
    '0000-01-01T00:00:00',
  ]);
  for (const [offset, told] of [
    ['-03:00', ['9999-12-31T19:30:00', '9999-12-31T23:59:59', '0000-01-01T00:00:00']],
    ['+14:00', ['9999-12-31T23:59:59', '9999-12-31T23:59:59', '0000-01-01T00:30:00']],
  ] as const) {
    await service.apply([store(offset)]);
    expect(await shown(), offset).toEqual(told);
  }
});
