/**
 * The alerting rules, with promtool and Prometheus to test them: from PATH, otherwise from Debian's
 * package.
 */
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { findOnPath } from '#local/stack/program.ts';
import { describeError } from '#shared/errors.ts';
import { debianPackages } from '#test/debian-packages.ts';
import { run } from '#test/run.ts';

export interface Rule {
  alert: string;
  expr: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

export const RULES = join(import.meta.dirname, '../../../deploy/prometheus/alerts.yaml');
interface Groups {
  groups: { name: string; rules: (Rule | { record: string; expr: string })[] }[];
}
const { groups } = parse(readFileSync(RULES, 'utf8')) as Groups;
const rules = groups.flatMap((group) => group.rules);
export const alerts = rules.filter((rule) => 'alert' in rule);
export const recordings = rules.filter((rule) => 'record' in rule);

/**
 * Finds or downloads promtool.
 * @returns its path; `null` after a printed reason if it is unavailable.
 */
export const findPromtool = () => findTool('promtool');

/** The same for the server. */
export const findPrometheus = () => findTool('prometheus');

async function findTool(name: string): Promise<string | null> {
  const installed = findOnPath(name, process.env);
  if (installed !== undefined) return installed;
  try {
    return join(await debianPackages(['prometheus']), 'usr', 'bin', name);
  } catch (error) {
    process.stderr.write(`skipped, alerts: ${name} is unavailable: ${describeError(error)}\n`);
    return null;
  }
}

/** The rule of an alert, and the recordings that it reads: promtool evaluates all that it is given. */
function rulesOf(alert: string): Groups {
  const expr = alerts.find((rule) => rule.alert === alert)?.expr ?? '';
  const needed = groups.map(({ name, rules: all }) => {
    const some = all.filter((rule) =>
      'alert' in rule ? rule.alert === alert : expr.includes(rule.record),
    );
    return { name, rules: some };
  });
  return { groups: needed.filter((group) => group.rules.length > 0) };
}

/** A test of promtool, of one alert. */
export interface RuleTest {
  alert: string;
  test: object;
}

/**
 * Runs tests of our rules with promtool.
 * @param folder for its files.
 * @returns its output about failed tests; empty if all pass.
 */
export async function runRules(
  promtool: string,
  tests: readonly RuleTest[],
  folder: string,
): Promise<string> {
  const write = async (name: string, content: object) => {
    const file = join(folder, name);
    await writeFile(file, stringify(content, { aliasDuplicateObjects: false }));
    return file;
  };
  const files = await Promise.all(
    tests.map(async ({ alert, test }, index) => {
      const rules = await write(`${index}.rules.yaml`, rulesOf(alert));
      const content = { rule_files: [rules], evaluation_interval: '1m', tests: [test] };
      return write(`${index}.test.yaml`, content);
    }),
  );
  return run(promtool, ['test', 'rules', ...files]).then(
    () => '',
    (error: { stdout: string; stderr: string }) => `${error.stdout}${error.stderr}` || 'it failed',
  );
}
