/**
 * Pages for people: the reference of the API and of the events, and the guides. Nothing in them comes from another host, and
 * everybody may see them.
 */
import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { FastifyRequest } from 'fastify';
import { PROGRAM_SUFFIX } from '#shared/source-files.ts';
import { sendRefusal } from '../responses/send.ts';
import { gzippedContent, sendStatic, type StaticContent, staticContent, lazy } from '../responses/compress.ts';
import type { Route } from '../endpoints/data-endpoint.ts';
import { noSuchPath } from '../hooks/requests.ts';
import { guideFiles, guidePage, HEADERS, page as htmlPage, searchIndex } from './pages.ts';

const HTML = 'text/html; charset=utf-8';
const ASSETS = join(import.meta.dirname, 'assets');
const DOCUMENTS = join(import.meta.dirname, '../../../docs');

/** Kept, but compared with ours before each use. */
const COMPARED = 'no-cache';
/** An address with the version of its content never has another. */
const FOR_EVER = 'public, max-age=31536000, immutable';

const FILES = [
  ['/docs/reference.js', 'text/javascript; charset=utf-8', join(ASSETS, 'reference.js')],
  ['/docs/site.js', 'text/javascript; charset=utf-8', join(ASSETS, 'site.js')],
  ['/docs/site.css', 'text/css; charset=utf-8', join(ASSETS, 'site.css')],
  ['/docs/icon.svg', 'image/svg+xml', join(ASSETS, 'icon.svg')],
  ['/docs/asyncapi.json', 'application/json; charset=utf-8', join(DOCUMENTS, 'asyncapi.json')],
] as const;

/** The routes of the pages. Programs that ask for the root are told the nearest path of the API. */
export function docsRoutes(): Route[] {
  const script = lazy(makeReferenceScript);
  const served = (
    path: string,
    make: () => Promise<StaticContent>,
    cacheControl = async (_request: FastifyRequest): Promise<string> => COMPARED,
  ): Route => {
    const content = lazy(make);
    return page(path, async (request, reply) => {
      reply.headers(HEADERS);
      return sendStatic(request, reply, await content(), await cacheControl(request));
    });
  };
  return [
    page('/', async (request, reply) => {
      reply.header('vary', 'accept');
      const isBrowser = request.headers.accept?.includes('text/html') === true;
      return isBrowser ? reply.redirect('/docs') : sendRefusal(request, reply, noSuchPath('/', request.server.routes));
    }),
    ...['/docs', '/docs/guides'].map((path) => page(`${path}/`, async (_request, reply) => reply.redirect(path))),
    served('/docs/search.json', async () =>
      staticContent('application/json; charset=utf-8', JSON.stringify(searchIndex())),
    ),
    served('/docs', async () => staticContent(HTML, referencePage((await script()).version))),
    served(
      '/docs/scalar.js',
      async () => (await script()).content,
      async ({ raw }) => (raw.url?.endsWith(`?v=${(await script()).version}`) === true ? FOR_EVER : COMPARED),
    ),
    ...FILES.map(([path, type, file]) => served(path, async () => staticContent(type, await readFile(file)))),
    ...guideFiles().map(({ file, path }) => served(path, async () => staticContent(HTML, guidePage(file)))),
  ];
}

/** The OpenAPI document is about what programs ask for; pages are stored compressed. */
function page(path: string, handler: Route['handler']): Route {
  return { method: 'GET', path, operation: null, handler };
}

const UNPACK_PROGRAM = join(import.meta.dirname, `unpack-reference-script${PROGRAM_SUFFIX}`);
const MAX_SCRIPT_BYTES = 16 * 1_048_576;

/**
 * Takes Scalar's script out of its package, in a process of its own: there it is one string, whose import takes 0.3 s and 50 MB of memory
 * for ever. Its version names its content.
 */
async function makeReferenceScript(): Promise<{ content: StaticContent; version: string }> {
  const options = { env: {}, encoding: 'buffer', maxBuffer: MAX_SCRIPT_BYTES } as const;
  const { stdout: gzipped } = await promisify(execFile)(process.execPath, [UNPACK_PROGRAM], options);
  const sha256 = hash('sha256', gzipped, 'base64url');
  const content = gzippedContent('text/javascript; charset=utf-8', gzipped, sha256);
  return { content, version: sha256.slice(0, 16) };
}

function referencePage(version: string): string {
  return htmlPage({
    title: 'Store Data API',
    part: 'reference',
    head: `<link rel="preload" as="script" href="/docs/scalar.js?v=${version}">
<script defer src="/docs/reference.js" data-version="${version}"></script>`,
    body: '<div id="reference"></div>\n<noscript>This page needs JavaScript. Its content is in <a href="/openapi.json">openapi.json</a>.</noscript>',
  });
}
