/** The guides: Markdown in `docs/guides/`, made into pages. The list in their README gives their order. */
import { readFile } from 'node:fs/promises';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { Marked } from 'marked';
import { escape, page } from './page.ts';

/** Where people and browsers find the guides. */
export const GUIDES_PATH = '/docs/guides';

const FOLDER = join(import.meta.dirname, '../../../docs/guides');
const INDEX = 'README.md';
const LINK = /^([\w-]+\.md)?(#.*)?$/;

/** The Markdown files, and the path of each one's page. */
export function guideFiles(): { file: string; path: string }[] {
  return readdirSync(FOLDER).map((file) => ({ file, path: pathOf(file) }));
}

/** The HTML document of a guide. */
export async function guidePage(file: string): Promise<string> {
  const [text, index] = await Promise.all([file, INDEX].map((name) => readFile(join(FOLDER, name), 'utf8')));
  const markdown = text ?? '';
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? file;
  const list = [...(index ?? '').matchAll(/^- \[([^\]]+)\]\(([\w-]+\.md)\)/gm)].map(
    ([, name = '', to = '']) => {
      const current = to === file ? ' aria-current="page"' : '';
      return `<li><a href="${pathOf(to)}"${current}>${escape(name)}</a></li>`;
    },
  );
  return page({
    title: `${title} · Store Data API`,
    part: 'guides',
    head: '',
    body: `<div class="guide"><nav aria-label="Guides"><ul>${list.join('')}</ul></nav>
<main>${render(markdown)}</main></div>`,
  });
}

function pathOf(file: string): string {
  return file === INDEX ? GUIDES_PATH : `${GUIDES_PATH}/${file.replace(/\.md$/, '')}`;
}

/** To HTML whose headings have the anchors that they have in a repository, and whose links lead to pages. */
function render(markdown: string): string {
  const marked = new Marked({
    async: false,
    renderer: {
      heading({ tokens, depth, text }) {
        const anchor = anchorOf(text);
        return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
    },
    walkTokens(token) {
      if (token.type !== 'link') return;
      const [, file, anchor = ''] = LINK.exec(token['href'] as string) ?? [];
      if (file !== undefined) token['href'] = `${pathOf(file)}${anchor}`;
    },
  });
  return marked.parse(markdown) as string;
}

/** As repositories' web pages make them. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
