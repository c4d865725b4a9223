import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { projectFiles } from '../docs/project-files.ts';

it('nothing outside shared/kafka imports kafkajs', () => {
  const others = projectFiles(['.ts']).filter((path) =>
    /^(?:services|shared(?!\/kafka\/)|deploy)\//.test(path),
  );
  expect(others.length).toBeGreaterThan(100);
  expect(
    others.filter((path) => /from 'kafkajs|'kafkajs\//.test(readFileSync(path, 'utf8'))),
  ).toEqual([]);
});
