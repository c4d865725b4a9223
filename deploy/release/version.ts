/**
 * Completes `npm version`, which changes package.json alone: sets the version everywhere else,
 * dates the changelog's section, and copies the API's document, with which the next release is
 * compared.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';

/** Files that name the version, and where: the first group stays before it. */
const NAMED: Record<string, RegExp> = {
  'deploy/clients/python/pyproject.toml': /^(version = ")[^"]*/gm,
  'deploy/clients/typescript/package.json': /^( {2}"version": ")[^"]*/gm,
  'deploy/Dockerfile': /^(ARG VERSION=).*$/gm,
  'deploy/helm/store-data/Chart.yaml': /^((?:app)?[vV]ersion: '?)[\d.]+/gm,
  'deploy/helm/store-data/README.md': /(store-data:)\d+\.\d+\.\d+/g,
};
const UNRELEASED = '## Unreleased\n';

const version = process.env['npm_package_version'] ?? '';
if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error('run it as "npm version <version>"');

// First, since it may refuse: then no file has changed.
change('CHANGELOG.md', (text) => {
  const [, unreleased = ''] = text.split(UNRELEASED);
  const hasChanges = unreleased.split('\n## ')[0]?.trim() !== '';
  const isDated = text.includes(`## ${version} - 20`);
  // The section may have been written by hand, as that of the first release was.
  if (isDated && !hasChanges) return text;
  if (isDated) throw new Error(`the changelog has ${version} already`);
  if (!hasChanges) throw new Error('the changelog says nothing under Unreleased');
  const today = new Date().toISOString().slice(0, 10);
  return text.replace(UNRELEASED, `${UNRELEASED}\n## ${version} - ${today}\n`);
});
for (const [path, pattern] of Object.entries(NAMED)) {
  change(path, (text) => text.replaceAll(pattern, (_, before: string) => before + version));
}
copyFileSync('docs/openapi.json', 'docs/openapi.released.json');

function change(path: string, by: (text: string) => string): void {
  writeFileSync(path, by(readFileSync(path, 'utf8')));
}
