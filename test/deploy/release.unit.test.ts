/** A release has the same version in every file; and the scripts of its workflow. */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import project from '../../package.json' with { type: 'json' };

const text = (path: string, folder = '.') => readFileSync(join(folder, path), 'utf8');
const json = (path: string, folder?: string) =>
  JSON.parse(text(path, folder)) as { info: { version: string } };

/** The versions in the files of a folder. */
function versions(folder?: string): Set<unknown> {
  const chart = parse(text('deploy/helm/store-data/Chart.yaml', folder)) as Record<string, unknown>;
  return new Set([
    chart['version'],
    chart['appVersion'],
    /^ARG VERSION=(.*)$/m.exec(text('deploy/Dockerfile', folder))?.[1],
    /store-data:(\d\S+)/.exec(text('deploy/helm/store-data/README.md', folder))?.[1],
    /^version = "(.*)"$/m.exec(text('deploy/clients/python/pyproject.toml', folder))?.[1],
    /^ {2}"version": "(.*)",$/m.exec(text('deploy/clients/typescript/package.json', folder))?.[1],
  ]);
}

it('every file has the same version', () => {
  const lock = JSON.parse(text('package-lock.json')) as { version: string };
  const documents = ['openapi', 'asyncapi'].map((name) => json(`docs/${name}.json`).info.version);
  expect(new Set([...versions(), lock.version, ...documents])).toEqual(new Set([project.version]));
});

describe('the scripts of a release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'store-data-release-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  for (const path of [
    'deploy/Dockerfile',
    'deploy/clients/python/pyproject.toml',
    'deploy/clients/typescript/package.json',
    'deploy/helm/store-data/Chart.yaml',
    'deploy/helm/store-data/README.md',
    'deploy/release',
    'docs/openapi.json',
  ]) {
    cpSync(path, join(folder, path), { recursive: true });
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', version: '9.8.7' }));
  writeFileSync(
    join(folder, 'CHANGELOG.md'),
    '# Changelog\n\n## Unreleased\n\n- What is new\n\n## 9.8.6 - 2026-01-01\n\n- old\n',
  );
  const run = (script: string, ...args: string[]) => {
    const env = { ...process.env, npm_package_version: '9.8.7' };
    return spawnSync(process.execPath, [`deploy/release/${script}`, ...args], {
      cwd: folder,
      env,
      encoding: 'utf8',
    });
  };

  it('write the version, and date the changelog', () => {
    expect(run('version.ts')).toMatchObject({ stderr: '', status: 0 });
    expect(versions(folder)).toEqual(new Set(['9.8.7']));
    const today = new Date().toISOString().slice(0, 10);
    expect(text('CHANGELOG.md', folder)).toContain(
      `## Unreleased\n\n## 9.8.7 - ${today}\n\n- What is new\n\n## 9.8.6`,
    );
    expect(json('docs/openapi.released.json', folder)).toEqual(json('docs/openapi.json'));
  });

  it('refuse a release without a changelog section, and further changes of a released one', () => {
    const changelog = text('CHANGELOG.md', folder);
    const runWith = (changed: string) => {
      writeFileSync(join(folder, 'CHANGELOG.md'), changed);
      return run('version.ts').stderr;
    };
    expect(runWith(changelog.replace(/## 9\.8\.7[^]*?(?=## 9)/, ''))).toContain(
      'the changelog says nothing under Unreleased',
    );
    expect(runWith(changelog.replace('## Unreleased\n', '## Unreleased\n\n- More\n'))).toContain(
      'the changelog has 9.8.7 already',
    );
    writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
  });

  it('print the changelog section of the version, and refuse another tag', () => {
    expect(run('notes.ts', 'v9.8.7').stdout).toBe('- What is new\n');
    expect(run('notes.ts', 'v9.8.8').stderr).toContain(
      'the tag is v9.8.8, and package.json has 9.8.7',
    );
  });
});

it('workflows pin every action by its digest', () => {
  const used = globSync('.github/workflows/*').flatMap((path) =>
    [...text(path).matchAll(/uses: (.*)$/gm)].map(([, action = '']) => action),
  );
  expect(used.length).toBeGreaterThan(10);
  expect(
    used.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action)),
  ).toEqual([]);
});
