/** `npm run documents`: updates what the documents take from the schemas and the commands. */
import { readFile, writeFile } from 'node:fs/promises';
import { asyncApiDocument, cliMarkdown, eventsMarkdown, replaceSection } from './documents.ts';

await replaceIn('docs/events.md', 'fields', eventsMarkdown());
await replaceIn('docs/cli.md', 'commands', cliMarkdown());
await writeFile('docs/asyncapi.json', `${JSON.stringify(asyncApiDocument(), null, 2)}\n`);

async function replaceIn(path: string, name: string, markdown: string): Promise<void> {
  await writeFile(path, replaceSection(await readFile(path, 'utf8'), name, markdown));
}
