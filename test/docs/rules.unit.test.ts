import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { projectFiles } from './project-files.ts';

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
  it('gives each number once, in order', () => {
    const inOrder = defined.toSorted((a, b) => {
      const [chapterA = 0, ruleA = 0] = a.slice(1).split('.').map(Number);
      const [chapterB = 0, ruleB = 0] = b.slice(1).split('.').map(Number);
      return chapterA - chapterB || ruleA - ruleB;
    });
    expect(defined).toEqual(inOrder);
    expect(new Set(defined).size).toBe(defined.length);
  });

  it('is all that is cited as a rule', () => {
    const OTHERS = /\b(?:SPEC|CONTRACT)(?:\.md)? (?:section|§)/;
    expect(texts.filter(([, text]) => OTHERS.test(text)).map(([path]) => path)).toEqual([]);
  });

  it('has every rule that is cited anywhere', () => {
    const cited = texts.flatMap(([path, text]) =>
      [...text.matchAll(NUMBER)].map(([rule]) => ({ path, rule })),
    );
    expect(cited.filter(({ path }) => path !== RULES).length).toBeGreaterThan(60);
    expect(cited.filter(({ rule }) => !defined.includes(rule))).toEqual([]);
  });
});
