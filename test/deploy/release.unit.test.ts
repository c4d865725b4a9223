/** A release has the same version in every file; and the scripts of its workflow. */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '#test/folder.ts';
import project from '../../package.json' with { type: 'json' };

const text = (path: string, folder = '.') => readFileSync(join(folder, path), 'utf8');

type Named = readonly (readonly [path: string, version: RegExp])[];
const NAMED: Named = [
  ['deploy/Dockerfile', /^ARG VERSION=(.*)$/m],
  ['deploy/clients/python/pyproject.toml', /^version = "(.*)"$/m],
  ['deploy/clients/typescript/package.json', /^ {2}"version": "(.*)",$/m],
  ['deploy/helm/store-data/Chart.yaml', /^version: '?([^']+?)'?$/m],
  ['deploy/helm/store-data/Chart.yaml', /^appVersion: '?([^']+?)'?$/m],
  ['deploy/helm/store-data/README.md', /store-data:(\d\S+)/],
];
/** Those that other programs make. */
const MADE: Named = ['package-lock.json', 'docs/openapi.json', 'docs/asyncapi.json'].map((path) => [
  path,
  /"version": "(.*)"/,
]);

/** The versions in the files of a folder. */
const versions = (named: Named, folder?: string) =>
  new Set(named.map(([path, version]) => version.exec(text(path, folder))?.[1]));

it('every file has the same version', () => {
  expect(versions([...NAMED, ...MADE])).toEqual(new Set([project.version]));
});

describe('the scripts of a release', () => {
  const folder = useFolder();
  const CHANGELOG = join(folder, 'CHANGELOG.md');
  beforeAll(() => {
    for (const path of [...NAMED.map(([named]) => named), 'deploy/release', 'docs/openapi.json'])
      cpSync(path, join(folder, path), { recursive: true });
    const manifest = { type: 'module', version: '9.8.7' };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    writeFileSync(
      CHANGELOG,
      '# Changelog\n\n## Unreleased\n\n- What is new\n\n## 9.8.6 - 2026-01-01\n\n- old\n',
    );
  });
  const run = (script: string, ...args: string[]) => {
    const env = { ...process.env, npm_package_version: '9.8.7' };
    const options = { cwd: folder, env, encoding: 'utf8' } as const;
    return spawnSync(process.execPath, [`deploy/release/${script}`, ...args], options);
  };

  it('write the version, and date the changelog', () => {
    expect(run('version.ts')).toMatchObject({ stderr: '', status: 0 });
    expect(versions(NAMED, folder)).toEqual(new Set(['9.8.7']));
    const today = new Date().toISOString().slice(0, 10);
    expect(text('CHANGELOG.md', folder)).toContain(
      `## Unreleased\n\n## 9.8.7 - ${today}\n\n- What is new\n\n## 9.8.6`,
    );
    expect(text('docs/openapi.released.json', folder)).toBe(text('docs/openapi.json'));
  });

  it('print the changelog section of the version, and refuse another tag', () => {
    expect(run('notes.ts', 'v9.8.7').stdout).toBe('- What is new\n');
    expect(run('notes.ts', 'v9.8.8').stderr).toContain(
      'the tag is v9.8.8, and package.json has 9.8.7',
    );
  });

  it('refuse a release without a changelog section, and further changes of a released one', () => {
    const changelog = text('CHANGELOG.md', folder);
    const runWith = (changed: string) => {
      writeFileSync(CHANGELOG, changed);
      return run('version.ts').stderr;
    };
    expect(runWith(changelog.replace(/## 9\.8\.7[^]*?(?=## 9)/, ''))).toContain(
      'the changelog says nothing under Unreleased',
    );
    expect(runWith(changelog.replace('## Unreleased\n', '## Unreleased\n\n- More\n'))).toContain(
      'the changelog has 9.8.7 already',
    );
  });
});

it('workflows pin every action by its digest', () => {
  const workflows = globSync('.github/workflows/*').map((path) => text(path));
  const used = workflows.join('\n').match(/(?<=uses: ).*$/gm) ?? [];
  expect(used.length).toBeGreaterThan(10);
  const pinned = /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/;
  expect(used.filter((action) => !pinned.test(action))).toEqual([]);
});
