/**
 * Prints what the changelog says of the version of package.json. Fails unless the tag names that
 * version and its section has a date.
 */
import { readFileSync } from 'node:fs';
import project from '../../package.json' with { type: 'json' };

const [tag] = process.argv.slice(2);
if (tag !== `v${project.version}`)
  throw new Error(`the tag is ${tag}, and package.json has ${project.version}`);
const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m);
const section = sections.find((text) => text.startsWith(`${project.version} - 20`));
if (section === undefined)
  throw new Error(`the changelog has no dated section of ${project.version}`);
process.stdout.write(`${section.slice(section.indexOf('\n')).trim()}\n`);
