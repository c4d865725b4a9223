/** Documents refer to existing files, headings, scripts, rules and decisions. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectFiles } from './project-files.ts';

const FOLDER = 'docs/decisions';
const names = readdirSync(FOLDER).filter((name) => /^\d{4}-/.test(name));

const records = names.map((name) => ({
  name,
  title: /^# (.+)$/m.exec(readFileSync(join(FOLDER, name), 'utf8'))?.[1] ?? '',
}));

describe('decision records', () => {
  it('have unique numbers', () => {
    expect(names.length).toBeGreaterThan(20);
    expect(new Set(names.map((name) => name.slice(0, 4))).size).toBe(names.length);
  });

  it.each(records)('$name has a title with its number', ({ name, title }) => {
    expect(title).toMatch(new RegExp(`^${name.slice(0, 4)} \\S`));
  });

  it('are all listed in docs/decisions/README.md with their titles', () => {
    const table = readFileSync(join(FOLDER, 'README.md'), 'utf8');
    const rows = [...table.matchAll(/^\| \[(\d{4})\]\((.+?)\) *\| (.+?) *\|$/gm)];
    expect(rows.map(([, number, name, title]) => ({ name, title: `${number} ${title}` }))).toEqual(
      records,
    );
  });

  it('exist for every number that code names', () => {
    const numbers = new Set(names.map((name) => name.slice(0, 4)));
    const named = projectFiles(['.ts']).flatMap((path) => [
      ...readFileSync(path, 'utf8').matchAll(/\bdecision (\d{4})\b/g),
    ]);
    const unknown = named.map(([, number = '']) => number).filter((number) => !numbers.has(number));
    expect(unknown).toEqual([]);
  });
});

/** The anchor that GitHub makes of a heading. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-');
}

function hasAnchor(path: string, anchor: string): boolean {
  const headings = readFileSync(path, 'utf8').matchAll(/^#+ (.+)$/gm);
  return [...headings].some(([, heading = '']) => anchorOf(heading) === anchor);
}

/** Historical records may name files that are gone. */
const isHistory = (path: string) => path.startsWith('docs/decisions/0') || path === 'CHANGELOG.md';

it.each(projectFiles(['.md']).filter((path) => !isHistory(path)))(
  '%s names only existing files',
  (path) => {
    const named = readFileSync(path, 'utf8').matchAll(
      /`((?:services|shared|deploy|test|docs)\/[\w./-]*)`/g,
    );
    // docs/changing-records.md invents the entity `courier`.
    const missing = [...named].map(([, file = '']) => file).filter((file) => !existsSync(file));
    expect(missing.filter((file) => !file.includes('courier'))).toEqual([]);
  },
);

it.each(projectFiles(['.md']))('%s links only to existing files and headings', (path) => {
  const text = readFileSync(path, 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '');
  const dead = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].filter(
    ([, file = '', anchor]) => {
      const target = file === '' ? path : join(dirname(path), file);
      return !existsSync(target) || (anchor !== undefined && !hasAnchor(target, anchor));
    },
  );
  expect(dead.map(([link]) => link)).toEqual([]);
});

it.each(projectFiles(['.md']).filter((path) => !isHistory(path)))(
  '%s names only existing npm scripts',
  (path) => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object };
    const named = readFileSync(path, 'utf8').matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g);
    expect([...named].map(([, name = '']) => name).filter((name) => !(name in scripts))).toEqual(
      [],
    );
  },
);

it('docs/README.md links to every document', () => {
  const index = readFileSync('docs/README.md', 'utf8');
  const documents = projectFiles(['.md', '.json']).filter((path) =>
    /^docs\/[\w-]+\.(?:md|json)$/.test(path),
  );
  const names = documents
    .map((path) => path.slice('docs/'.length))
    .filter((name) => name !== 'README.md');
  expect(names.filter((name) => !index.includes(`](${name}`))).toEqual([]);
});

it('the guide to errors has a section for each code of data endpoints, and names each code of the token endpoint', () => {
  const { components } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')) as {
    components: {
      schemas: Record<string, { properties?: { error?: object; code?: { enum?: string[] } } }>;
    };
  };
  const guide = readFileSync('docs/guides/errors.md', 'utf8');
  const missing = Object.values(components.schemas).flatMap(
    ({ properties: { error, code } = {} }) =>
      (code?.enum ?? []).filter(
        (word) => !guide.includes(error === undefined ? `\n### ${word}\n` : `\`${word}\``),
      ),
  );
  expect(missing).toEqual([]);
});

const readme = readFileSync('README.md', 'utf8');
/** Present and historical measurements. */
const benchmarks = ['docs/benchmarks.md', 'docs/decisions/0033-rank-trees.md']
  .map((path) => readFileSync(path, 'utf8'))
  .join('\n');

/** The rows of the table below a heading, as cells. */
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
  it('has only figures of speed that the benchmarks have', () => {
    const rows = tableBelow('Why');
    expect(rows.length).toBeGreaterThan(3);
    const lines = benchmarks.split('\n').map((line) => line.replaceAll(/[\s*]+/g, ' '));
    for (const [work = '', here = '', usual = ''] of rows) {
      const figures = [here, usual].map((cell) => cell.match(/[\d,.]*\d/g) ?? []);
      // A comparison of parts takes one benchmark line per side, any other one line for both.
      const sides = figures.every(({ length }) => length === 1) ? [figures.flat()] : figures;
      for (const side of sides) {
        const isThere = (line: string) =>
          side.every((figure) => new RegExp(`\\b${figure}\\b`).test(line));
        expect(lines.some(isThere), `${work}: ${side.join(', ')}`).toBe(true);
      }
    }
    const [, share = ''] = /gets ([\d.]+) % of its answers/.exec(readme) ?? [];
    const [, floods = ''] = /<!-- flood: begin -->(.*)<!-- flood: end -->/s.exec(benchmarks) ?? [];
    const shares = [...floods.matchAll(/ ([\d.]+) % /g)].map(([, answered]) => answered);
    expect(shares).toEqual(Array(4).fill(share));
  });

  it('has a proof for each promise', () => {
    const promises = tableBelow('What it promises');
    expect(promises.length).toBeGreaterThan(5);
    for (const [promise, proof] of promises)
      expect({ promise, proof }).toEqual({
        promise,
        proof: expect.stringMatching(/^\[.+\]\(.+\)$/),
      });
  });
});

const RULES = 'docs/rules.md';
const NUMBER = /\bR[1-9]\d*\.[1-9]\d*\b/g;

const defined = [...readFileSync(RULES, 'utf8').matchAll(/^- \*\*(R\d+\.\d+)\*\*/gm)].map(
  ([, rule = '']) => rule,
);
const texts = projectFiles(['.ts', '.py', '.md', '.yaml']).map((path): [string, string] => [
  path,
  readFileSync(path, 'utf8'),
]);

describe('docs/rules.md', () => {
  it('numbers the rules in order, each number once', () => {
    const inOrder = defined.toSorted((a, b) => {
      const [chapterA = 0, ruleA = 0] = a.slice(1).split('.').map(Number);
      const [chapterB = 0, ruleB = 0] = b.slice(1).split('.').map(Number);
      return chapterA - chapterB || ruleA - ruleB;
    });
    expect(defined).toEqual(inOrder);
    expect(new Set(defined).size).toBe(defined.length);
  });

  it('is the only document that is cited for rules', () => {
    const OTHERS = /\b(?:SPEC|CONTRACT)(?:\.md)? (?:section|§)/;
    expect(texts.filter(([, text]) => OTHERS.test(text)).map(([path]) => path)).toEqual([]);
  });

  it('has every cited rule', () => {
    const cited = texts.flatMap(([path, text]) =>
      [...text.matchAll(NUMBER)].map(([rule]) => ({ path, rule })),
    );
    expect(cited.filter(({ path }) => path !== RULES).length).toBeGreaterThan(60);
    expect(cited.filter(({ rule }) => !defined.includes(rule))).toEqual([]);
  });
});

/** Licences that the product may include. */
const ALLOWED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  '(MIT OR CC0-1.0)',
  'Unlicense',
]);

it('every package of the product has an allowed licence', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { license?: string; dev?: boolean }>;
  };
  const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true);
  expect(shipped.length).toBeGreaterThan(30);
  const others = shipped.filter(([, { license }]) => !ALLOWED.has(license ?? 'none'));
  expect(others.map(([path, { license }]) => `${path}: ${license ?? 'none'}`)).toEqual([]);
});
