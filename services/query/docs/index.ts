/**
 * Pages for people: the reference of the API and the events, and the guides from `docs/guides/`.
 * Nothing comes from another host.
 */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FastifyRequest } from 'fastify';
import { Marked } from 'marked';
import { PROGRAM_SUFFIX } from '#shared/source-files.ts';
import { GUIDES_PATH, sendRefusal } from '../responses/send.ts';
import {
  gzippedContent,
  sendStatic,
  type StaticContent,
  staticContent,
} from '../responses/compress.ts';
import type { Route } from '../endpoints/data-endpoint.ts';
import { noSuchPath } from '../hooks/requests.ts';

const HTML = 'text/html; charset=utf-8';
const ASSETS = join(import.meta.dirname, 'assets');
const DOCUMENTS = join(import.meta.dirname, '../../../docs');

/** Browsers keep it, and ask whether it changed before each use. */
const REVALIDATED = 'no-cache';
/** For an address that names the version of its content. */
const FOR_EVER = 'public, max-age=31536000, immutable';

const FILES = [
  ['/docs/reference.js', 'text/javascript; charset=utf-8', join(ASSETS, 'reference.js')],
  ['/docs/site.js', 'text/javascript; charset=utf-8', join(ASSETS, 'site.js')],
  ['/docs/site.css', 'text/css; charset=utf-8', join(ASSETS, 'site.css')],
  ['/docs/icon.svg', 'image/svg+xml', join(ASSETS, 'icon.svg')],
  ['/docs/asyncapi.json', 'application/json; charset=utf-8', join(DOCUMENTS, 'asyncapi.json')],
] as const;

/**
 * The routes of the pages. A program that asks for the root gets the 404 with the nearest path of
 * the API.
 */
export function docsRoutes(): Route[] {
  const script = retriedLazily(makeReferenceScript);
  const served = (
    path: string,
    make: () => Promise<StaticContent>,
    cacheControl = async (_request: FastifyRequest): Promise<string> => REVALIDATED,
  ): Route => {
    const content = retriedLazily(make);
    return pageRoute(path, async (request, reply) =>
      sendStatic(reply.headers(HEADERS), await content(), await cacheControl(request)),
    );
  };
  return [
    pageRoute('/', async (request, reply) => {
      reply.header('vary', 'accept');
      const isBrowser = request.headers.accept?.includes('text/html');
      return isBrowser
        ? reply.redirect('/docs')
        : sendRefusal(reply, noSuchPath('/', request.server.routes));
    }),
    ...['/docs', '/docs/guides'].map((path) =>
      pageRoute(`${path}/`, async (_request, reply) => reply.redirect(path)),
    ),
    served('/docs/search.json', async () =>
      staticContent('application/json; charset=utf-8', JSON.stringify(searchIndex())),
    ),
    served('/docs', async () => staticContent(HTML, referencePage((await script()).version))),
    served(
      '/docs/scalar.js',
      async () => (await script()).content,
      async ({ raw }) =>
        raw.url?.endsWith(`?v=${(await script()).version}`) ? FOR_EVER : REVALIDATED,
    ),
    ...FILES.map(([path, type, file]) =>
      served(path, async () => staticContent(type, await readFile(file))),
    ),
    ...guideFiles().map(({ file, path }) =>
      served(path, async () => staticContent(HTML, guidePage(file))),
    ),
  ];
}

/** A route that the OpenAPI document does not show. */
function pageRoute(path: string, handler: Route['handler']): Route {
  return { method: 'GET', path, operation: null, handler };
}

/** Makes something on first use and keeps it. After a failure the next use tries again. */
function retriedLazily<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    }));
}

const UNPACK_PROGRAM = join(import.meta.dirname, `unpack-reference-script${PROGRAM_SUFFIX}`);
const MAX_SCRIPT_BYTES = 16 * 1_048_576;

/**
 * Takes Scalar's script out of its package, in a process of its own: its import takes 0.3 s and 50
 * MB of memory for ever.
 */
async function makeReferenceScript(): Promise<{ content: StaticContent; version: string }> {
  const options = { env: {}, encoding: 'buffer', maxBuffer: MAX_SCRIPT_BYTES } as const;
  const { stdout: gzipped } = await promisify(execFile)(
    process.execPath,
    [UNPACK_PROGRAM],
    options,
  );
  const sha256 = hash('sha256', gzipped, 'base64url');
  const content = gzippedContent('text/javascript; charset=utf-8', gzipped, sha256);
  return { content, version: sha256.slice(0, 16) };
}

function referencePage(version: string): string {
  return page({
    title: 'Store Data API',
    part: 'reference',
    head: `<link rel="preload" as="script" href="/docs/scalar.js?v=${version}">
<script defer src="/docs/reference.js" data-version="${version}"></script>`,
    body: `<div id="reference"></div>
<noscript>This page needs JavaScript. Its content is in <a href="/openapi.json">openapi.json</a>.</noscript>`,
  });
}

/**
 * Pages load only what comes from here, and run only our scripts. Scalar writes styles into the
 * page.
 */
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

const HEADERS = {
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

interface Page {
  title: string;
  /** The reference shows the events too: `assets/site.js` marks the right link. */
  part: 'reference' | 'guides';
  head: string;
  body: string;
}

function page({ title, part, head, body }: Page): string {
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

const FOLDER = join(DOCUMENTS, 'guides');
const INDEX = 'README.md';
const LINK = /^([\w-]+\.md)?(#.*)?$/;

function guideFiles(): { file: string; path: string }[] {
  return readdirSync(FOLDER).map((file) => ({ file, path: pathOf(file) }));
}

const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8');

function guidePage(file: string): string {
  const markdown = read(file);
  const title = /^# (.+)$/m.exec(markdown)?.[1] ?? file;
  const list = [...read(INDEX).matchAll(/^- \[([^\]]+)\]\(([\w-]+\.md)\)/gm)].map(
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
<main>${MARKED.parse(markdown) as string}</main></div>`,
  });
}

function pathOf(file: string): string {
  return file === INDEX ? GUIDES_PATH : `${GUIDES_PATH}/${file.replace(/\.md$/, '')}`;
}

/** The sections of all guides, for the search. Each error code has one. */
function searchIndex(): object[] {
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

/** Renders Markdown with the anchors of a repository's web pages, and links to our pages. */
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

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
