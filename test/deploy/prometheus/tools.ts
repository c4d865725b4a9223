/**
 * The alerting rules, with promtool and Prometheus to test them: from PATH, otherwise from Debian's
 * package.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { findOnPath } from '#local/stack/program.ts';
import { describeError } from '#shared/errors.ts';
import { debianPackages } from '#test/debian-packages.ts';

export interface Rule {
  alert: string;
  expr: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

export const RULES = join(import.meta.dirname, '../../../deploy/prometheus/alerts.yaml');
const { groups } = parse(readFileSync(RULES, 'utf8')) as {
  groups: { rules: (Rule | { record: string; expr: string })[] }[];
};
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

/**
 * Runs tests of our rules with promtool.
 * @returns its output about failed tests; empty if all pass.
 */
export async function runRules(promtool: string, tests: readonly object[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'store-data-alerts-'));
  const file = join(folder, 'alerts.test.yaml');
  try {
    const content = { rule_files: [RULES], evaluation_interval: '1m', tests };
    await writeFile(file, stringify(content, { aliasDuplicateObjects: false }));
    await promisify(execFile)(promtool, ['test', 'rules', file]);
    return '';
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return `${stdout}${stderr}` || String(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
