import { expect, it } from 'vitest';
import { createLogger } from '#shared/logging.ts';

it('an error is logged with its kind, words and stack, and with nothing else that it carries', () => {
  const lines: string[] = [];
  const logger = createLogger('test', 'info', { write: (line) => lines.push(line) });
  const error = Object.assign(new TypeError('cannot reach redis://:abc@tail@host:6379'), {
    input: 'redis://:abc@tail@host:6379',
    command: { name: 'auth', args: ['abc@tail'] },
  });
  logger.error({ err: error }, 'it failed');
  expect(lines).toHaveLength(1);
  const { err } = JSON.parse(lines[0] ?? '') as { err: Record<string, string> };
  expect(Object.keys(err)).toEqual(['type', 'message', 'stack']);
  expect(err).toMatchObject({ type: 'TypeError', message: 'TypeError: cannot reach redis://host:6379' });
  expect(err['stack']).toContain('logging.unit.test.ts');
  expect(lines[0]).not.toContain('tail');
});
