import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { cacheFolder } from '#local/stack/fetch.ts';
import { openApi } from '#test/documented.ts';
import { installPythonPackages } from '#test/python-packages.ts';

const run = promisify(execFile);
const EXAMPLE = join(import.meta.dirname, '../../docs/examples/generated-client');

it('generates a TypeScript client that passes strict type checks', async () => {
  const cwd = join(EXAMPLE, 'typescript');
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd });
  await run('npm', ['run', 'check'], { cwd });
});

it('generates a Python client without warnings, with a class for each error', async () => {
  const requirements = join(EXAMPLE, 'python/requirements.txt');
  const packages = await installPythonPackages(
    { name: 'openapi-python-client', requirements },
    cacheFolder(process.env),
    () => undefined,
  );
  const folder = await mkdtemp(join(tmpdir(), 'generated-client-'));
  try {
    const { stdout, stderr } = await run(
      'python3',
      [
        '-m',
        'openapi_python_client',
        'generate',
        '--fail-on-warning',
        '--meta=none',
        '--path=docs/openapi.json',
        `--output-path=${join(folder, 'client')}`,
      ],
      {
        env: {
          ...process.env,
          PYTHONPATH: packages,
          PATH: `${join(packages, 'bin')}${delimiter}${process.env['PATH'] ?? ''}`,
        },
      },
    );
    expect(`${stdout}${stderr}`).not.toMatch(/warning/i);
    const models = await readdir(join(folder, 'client/models'));
    const errors = Object.keys(openApi.components['schemas'] ?? {}).filter((name) =>
      name.endsWith('Error'),
    );
    expect(errors.length).toBeGreaterThan(12);
    for (const name of errors) {
      const file = `${name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()}.py`;
      expect([file, models.includes(file)]).toEqual([file, true]);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
