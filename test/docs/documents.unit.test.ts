/** Documents refer to existing files, headings, scripts, rules and decisions. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectFiles } from './project-files.ts';

const texts = projectFiles(['.ts', '.py', '.md', '.yaml']).map((path): [string, string] => [
  path,
  readFileSync(path, 'utf8'),
]);
const documents = texts.filter(([path]) => path.endsWith('.md'));
/** Without historical records, which may name what is gone. */
const present = documents.filter(
  ([path]) => !path.startsWith('docs/decisions/0') && path !== 'CHANGELOG.md',
);

/** The first group of each match. */
const groupsIn = (text: string, pattern: RegExp) =>
  [...text.matchAll(pattern)].map(([, group = '']) => group);

describe('decision records', () => {
  const FOLDER = 'docs/decisions';
  const names = readdirSync(FOLDER).filter((name) => /^\d{4}-/.test(name));
  const numbers = new Set(names.map((name) => name.slice(0, 4)));

  it('have a number each, and are listed in docs/decisions/README.md with number and title', () => {
    expect(numbers.size).toBe(names.length);
    const table = readFileSync(join(FOLDER, 'README.md'), 'utf8');
    const rows = table.matchAll(/^\| \[(\d{4})\]\((\1.+?)\) *\| (.+?) *\|$/gm);
    expect([...rows].map(([, number, name, title]) => [name, `# ${number} ${title}`])).toEqual(
      names.map((name) => [name, readFileSync(join(FOLDER, name), 'utf8').split('\n')[0]]),
    );
  });

  it('exist for every number that code names', () => {
    const code = texts.filter(([path]) => path.endsWith('.ts'));
    const named = code.flatMap(([, text]) => groupsIn(text, /\bdecision (\d{4})\b/g));
    expect(named.filter((number) => !numbers.has(number))).toEqual([]);
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
  return groupsIn(readFileSync(path, 'utf8'), /^#+ (.+)$/gm)
    .map(anchorOf)
    .includes(anchor);
}

it.each(present)('%s names only existing files and npm scripts', (_path, text) => {
  const files = groupsIn(text, /`((?:services|shared|deploy|test|docs)\/[\w./-]*)`/g);
  // docs/changing-records.md invents the entity `courier`.
  const missing = files.filter((file) => !existsSync(file) && !file.includes('courier'));
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object };
  const named = groupsIn(text, /npm run (?:--silent )?([a-z][\w:-]*)/g);
  expect([...missing, ...named.filter((name) => !(name in scripts))]).toEqual([]);
});

it.each(documents)('%s links only to existing files and headings', (path, text) => {
  const prose = text.replaceAll(/^```[\s\S]*?^```$/gm, '');
  const dead = [...prose.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)/g)].filter(
    ([, file = '', anchor]) => {
      const target = file === '' ? path : join(dirname(path), file);
      return !existsSync(target) || (anchor !== undefined && !hasAnchor(target, anchor));
    },
  );
  expect(dead.map(([link]) => link)).toEqual([]);
});

it('docs/README.md links to every document', () => {
  const index = readFileSync('docs/README.md', 'utf8');
  const names = readdirSync('docs').filter((name) => /^[\w-]+\.(?:md|json)$/.test(name));
  expect(names.filter((name) => name !== 'README.md' && !index.includes(`](${name}`))).toEqual([]);
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

it('the README has only figures of speed that the benchmarks have', () => {
  const readme = readFileSync('README.md', 'utf8');
  /** Present and historical measurements. */
  const benchmarks = ['docs/benchmarks.md', 'docs/decisions/0033-rank-trees.md']
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n');
  const [, table = ''] = /\n## Why\n.*?\n\| -.*?\n(.*?)\n\n/s.exec(readme) ?? [];
  const rows = table.split('\n');
  expect(rows.length).toBeGreaterThan(3);
  const lines = benchmarks.split('\n').map((line) => line.replaceAll(/[\s*]+/g, ' '));
  for (const row of rows) {
    const [, , ...cells] = row.split('|');
    const figures = cells.slice(0, 2).map((cell) => cell.match(/[\d,.]*\d/g) ?? []);
    // A comparison of parts takes one benchmark line per side, any other one line for both.
    const sides = figures.every(({ length }) => length === 1) ? [figures.flat()] : figures;
    for (const side of sides) {
      const isThere = (line: string) =>
        side.every((figure) => new RegExp(`\\b${figure}\\b`).test(line));
      expect(lines.some(isThere), `${row}: ${side.join(', ')}`).toBe(true);
    }
  }
  const shares = groupsIn(readme, /gets ([\d.]+) % of its answers/g);
  const floods = groupsIn(benchmarks, /<!-- flood: begin -->(.*)<!-- flood: end -->/gs);
  const answered = groupsIn(floods.join(''), / ([\d.]+) % /g);
  expect(answered).toEqual(Array(4).fill(shares[0]));
});

const RULES = 'docs/rules.md';

const defined = groupsIn(readFileSync(RULES, 'utf8'), /^- \*\*(R\d+\.\d+)\*\*/gm);

describe('docs/rules.md', () => {
  it('numbers the rules in order, each number once', () => {
    const inOrder = defined.toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));
    expect(defined).toEqual([...new Set(inOrder)]);
  });

  it('is the only document that is cited for rules', () => {
    const OTHERS = /\b(?:SPEC|CONTRACT)(?:\.md)? (?:section|§)/;
    expect(texts.filter(([, text]) => OTHERS.test(text)).map(([path]) => path)).toEqual([]);
  });

  it('has every cited rule', () => {
    const cited = texts.flatMap(([path, text]) =>
      groupsIn(text, /\b(R[1-9]\d*\.[1-9]\d*)\b/g).map((rule) => ({ path, rule })),
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
