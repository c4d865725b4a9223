import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const CHECK = new URL('../../shared/node-version.js', import.meta.url).pathname;

const START = new URL('../../deploy/local/start.js', import.meta.url).pathname;

/** Runs a program with a faked Node version; by default only the check. */
function startWith(version: string, start = ['--import', CHECK, '--eval', '']) {
  const versions = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(versions)}`, ...start],
    { encoding: 'utf8' },
  );
  return { status, stderr };
}

describe('the required Node version', () => {
  it.each(['20.20.2', '24.15.9'])('is named in an error on %s, without a stack', (version) => {
    const { status, stderr } = startWith(version);
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^Node 24\.16 or later is needed, and this is [\d.]+: install a newer one.*\n$/,
    );
    expect(stderr).toContain(version);
  });

  it('is named by the program of `npm start`', () => {
    expect(startWith('20.20.2', [START, '--help'])).toEqual({
      status: 1,
      stderr: expect.stringMatching(/^Node 24\.16 or later is needed.*\n$/),
    });
    expect(startWith('24.16.0', [START, '--help'])).toEqual({ status: 0, stderr: '' });
  });

  it.each(['24.16.0', '25.0.0'])('includes %s', (version) => {
    expect(startWith(version)).toEqual({ status: 0, stderr: '' });
  });

  it('is the one in package.json, and checked by every script that starts a program', () => {
    const manifest = JSON.parse(
      readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
    ) as {
      engines: { node: string };
      scripts: Record<string, string>;
    };
    expect(manifest.engines.node).toBe('>=24.16');
    expect(manifest.scripts['start']).toMatch(/^node [^ ]+ deploy\/local\/start\.js$/);
    for (const name of ['stack', 'store-data', 'start:projector', 'start:query']) {
      expect(manifest.scripts[name]).toContain('node --import=./shared/node-version.js ');
    }
  });
});
