/** The pages for people: their frame, and the guides from the Markdown in `docs/guides/`. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GUIDES_PATH } from '../responses/send.ts';
import { Marked } from 'marked';

/** Only what comes from here is loaded, and nothing but our own scripts runs. Scalar writes styles into the page. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** What all pages, and what they load, have in common. */
export const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

const PARTS = [
  ['reference', 'Reference', '/docs'],
  ['events', 'Events', '/docs?api=events'],
  ['guides', 'Guides', '/docs/guides'],
] as const;

export interface Page {
  title: string;
  /** Which part of the site it belongs to; `assets/site.js` knows whether the reference shows the events. */
  part: 'reference' | 'guides';
  /** HTML for the head and the body. */
  head: string;
  body: string;
}

export function page({ title, part, head, body }: Page): string {
  const links = PARTS.map(([name, text, address]) => {
    const current = name === part ? ' aria-current="true"' : '';
    return `<a href="${address}"${current}>${text}</a>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)}</title>
<link rel="icon" href="/docs/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/site.css">
<script defer src="/docs/site.js"></script>
${head}
</head>
<body class="${part}">
<header class="site"><strong>Store Data API</strong><nav>${links.join('')}</nav>
<search><input type="search" placeholder="Search the guides" aria-label="Search guides and errors"><ul hidden></ul></search></header>
${body}
</body>
</html>
`;
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}

const FOLDER = join(import.meta.dirname, '../../../docs/guides');
const INDEX = 'README.md';
const LINK = /^([\w-]+\.md)?(#.*)?$/;

export function guideFiles(): { file: string; path: string }[] {
  return readdirSync(FOLDER).map((file) => ({ file, path: pathOf(file) }));
}

const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8');

export function guidePage(file: string): string {
  const markdown = read(file);
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? file;
  const list = [...read(INDEX).matchAll(/^- \[([^\]]+)\]\(([\w-]+\.md)\)/gm)].map(([, name = '', to = '']) => {
    const current = to === file ? ' aria-current="page"' : '';
    return `<li><a href="${pathOf(to)}"${current}>${escape(name)}</a></li>`;
  });
  return page({
    title: `${title} · Store Data API`,
    part: 'guides',
    head: '',
    body: `<div class="guide"><nav aria-label="Guides"><ul>${list.join('')}</ul></nav>
<main>${MARKED.parse(markdown) as string}</main></div>`,
  });
}

function pathOf(file: string): string {
  return file === INDEX ? GUIDES_PATH : `${GUIDES_PATH}/${file.replace(/\.md$/, '')}`;
}

/** What the search finds: the sections of all guides, errors by their codes among them. */
export function searchIndex(): object[] {
  return guideFiles().flatMap(({ file, path }) => {
    const sections = [...read(file).matchAll(/^#+ (.+)$([^]*?)(?=^#+ .|(?![^]))/gm)];
    const guide = sections[0]?.[1];
    return sections.map(([, heading = '', text], index) => ({
      title: index === 0 ? guide : `${guide}: ${heading}`,
      address: `${path}#${anchorOf(heading)}`,
      text,
    }));
  });
}

/** Makes HTML whose headings have the anchors that they have in a repository, and whose links lead to pages. */
const MARKED = new Marked({
  async: false,
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth} id="${anchorOf(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
    },
  },
  walkTokens(token) {
    if (token.type !== 'link') return;
    const [, file, anchor = ''] = LINK.exec(token['href'] as string) ?? [];
    if (file !== undefined) token['href'] = `${pathOf(file)}${anchor}`;
  },
});

/** As repositories' web pages make them. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
