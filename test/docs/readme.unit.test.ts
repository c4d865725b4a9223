/** What the README says of the product stands somewhere with its proof. Its requests are tried by the tests of `npm start`. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const readme = readFileSync('README.md', 'utf8');
const benchmarks = readFileSync('docs/benchmarks.md', 'utf8');

/** The cells of the table below a heading, row by row. */
function tableBelow(heading: string): string[][] {
  const section = readme.slice(readme.indexOf(`## ${heading}\n`)).split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('the README', () => {
  it('has no figure of speed that the benchmarks do not have', () => {
    const rows = tableBelow('Why');
    expect(rows.length).toBeGreaterThan(3);
    const lines = benchmarks.split('\n').map((line) => line.replaceAll(/[\s*]+/g, ' '));
    for (const [work = '', here = '', usual = ''] of rows) {
      const figures = [here, usual].map((cell) => cell.match(/[\d,.]*\d/g) ?? []);
      // A comparison of pieces has one line of the benchmarks for each side, all others have one for both.
      const sides = figures.every(({ length }) => length === 1) ? [figures.flat()] : figures;
      for (const side of sides) {
        const isThere = (line: string) => side.every((figure) => new RegExp(`\\b${figure}\\b`).test(line));
        expect(lines.some(isThere), `${work}: ${side.join(', ')}`).toBe(true);
      }
    }
    const [, ratio = ''] = /take ([\d.]+) times as long/.exec(readme) ?? [];
    expect(benchmarks).toContain(`**ratio of p99 ${ratio}**`);
  });

  it('has a proof for each promise', () => {
    const promises = tableBelow('What it promises');
    expect(promises.length).toBeGreaterThan(5);
    for (const [promise, proof] of promises)
      expect({ promise, proof }).toEqual({ promise, proof: expect.stringMatching(/^\[.+\]\(.+\)$/) });
  });

  it('fits one look: shorter than four screens of 50 lines', () => {
    expect(readme.split('\n').length).toBeLessThan(200);
  });
});
