import { expect, it } from 'vitest';
import { createLogger } from '#shared/logging.ts';

it('an error is logged only with its type, message and stack', () => {
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
  expect(err).toMatchObject({
    type: 'TypeError',
    message: 'TypeError: cannot reach redis://host:6379',
  });
  expect(err['stack']).toContain('logging.unit.test.ts');
  expect(lines[0]).not.toContain('tail');
});

it('levels are names and times ISO 8601 if configured', () => {
  const lines: string[] = [];
  const destination = { write: (line: string) => lines.push(line) };
  createLogger('test', 'info', destination).warn('as numbers');
  createLogger('test', 'info', destination, 'names').child({ topic: 't' }).warn('as names');
  const [numbers, names] = lines.map(
    (line) => JSON.parse(line) as { level: unknown; time: unknown },
  );
  expect(numbers).toMatchObject({ level: 40, time: expect.any(Number) as number });
  expect(names).toMatchObject({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
  });
});
