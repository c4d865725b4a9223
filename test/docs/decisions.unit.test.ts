import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const FOLDER = 'docs/decisions';
const names = readdirSync(FOLDER).filter((name) => /^\d{4}-/.test(name));

interface DecisionRecord {
  name: string;
  title: string;
  status: string;
  /** Records that this one supersedes, and those that supersede it, each as a whole or in part. */
  supersedes: Link[];
  supersededBy: Link[];
}

type Link = `${'wholly' | 'in part'} ${string}`;

/** Links such as `[0004](0004-….md)` of lines that begin so. */
function links(text: string, pattern: RegExp): Link[] {
  return [...text.matchAll(pattern)].flatMap(([line, part]) =>
    [...line.matchAll(/\]\((\d{4}-[\w-]+\.md)\)/g)].map(
      ([, name = '']): Link => `${part === undefined ? 'wholly' : 'in part'} ${name}`,
    ),
  );
}

const records = names.map((name): DecisionRecord => {
  const text = readFileSync(join(FOLDER, name), 'utf8');
  return {
    name,
    title: /^# (.+)$/m.exec(text)?.[1] ?? '',
    status: /^# .+\n\n- Status: (.+)$/m.exec(text)?.[1] ?? '',
    supersedes: links(text, /^- Supersedes( in part)? \[.*$/gm),
    supersededBy: links(text, /superseded( in part)? by (?:\[\d{4}\]\([\w-]+\.md\)(?:, )?)+/g),
  };
});

function shortStatus(status: string): string {
  return status.replace(/^accepted · /, '').replace(/ by \[.*$/, '');
}

describe('decision records', () => {
  it('have numbers of their own', () => {
    expect(names.length).toBeGreaterThan(40);
    expect(new Set(names.map((name) => name.slice(0, 4))).size).toBe(names.length);
  });

  it.each(records)('$name has a title of its number, and a status', ({ name, title, status }) => {
    expect(title).toMatch(new RegExp(`^${name.slice(0, 4)} \\S`));
    expect(status).toMatch(/^(?:accepted(?: · superseded in part by \[.+)?|superseded by \[.+)$/);
  });

  it.each(records)('$name and what it supersedes name one another', (record) => {
    for (const link of record.supersedes) {
      const older = records.find(({ name }) => link.endsWith(name));
      expect(older?.supersededBy.map((by) => by.split(' ').at(-1))).toContain(record.name);
    }
    for (const link of record.supersededBy) {
      const newer = records.find(({ name }) => link.endsWith(name));
      const kind = link.slice(0, link.lastIndexOf(' '));
      expect(newer?.supersedes).toContain(`${kind} ${record.name}`);
      expect(newer?.name.localeCompare(record.name)).toBe(1);
    }
  });

  it('are all in the table of docs/decisions/README.md, with their titles and statuses', () => {
    const table = readFileSync(join(FOLDER, 'README.md'), 'utf8');
    const rows = [...table.matchAll(/^\| \[(\d{4})\]\((.+?)\) *\| (.+?) *\| (.+?) *\|$/gm)];
    expect(rows.map(([, number, name, title, status]) => [name, `${number} ${title}`, status])).toEqual(
      records.map(({ name, title, status }) => [name, title, shortStatus(status)]),
    );
  });
});
