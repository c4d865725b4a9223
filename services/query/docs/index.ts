/**
 * Pages for people: the reference of the API and of the events, and the guides. Nothing in them comes from another host, and
 * everybody may see them.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendRefusal } from '../answers/send.ts';
import { sendStatic, type StaticContent, staticContent, whenAsked } from '../answers/static-content.ts';
import { noSuchPath } from '../plugins/errors.ts';
import { guideFiles, guidePage } from './guides.ts';
import { page, protect } from './page.ts';
import { makeReferenceScript } from './reference-script.ts';

const HTML = 'text/html; charset=utf-8';
const ASSETS = join(import.meta.dirname, 'assets');
const DOCUMENTS = join(import.meta.dirname, '../../../docs');

/** Kept, but compared with ours before each use. */
const COMPARED = 'no-cache';
/** An address with the version of its content never has another. */
const FOR_EVER = 'public, max-age=31536000, immutable';

const FILES = [
  ['/docs/reference.js', 'text/javascript; charset=utf-8', join(ASSETS, 'reference.js')],
  ['/docs/site.css', 'text/css; charset=utf-8', join(ASSETS, 'site.css')],
  ['/docs/icon.svg', 'image/svg+xml', join(ASSETS, 'icon.svg')],
  ['/docs/asyncapi.json', 'application/json; charset=utf-8', join(DOCUMENTS, 'asyncapi.json')],
] as const;

export default async function docs(app: FastifyInstance): Promise<void> {
  const script = whenAsked(makeReferenceScript);
  const serve = (
    path: string,
    make: () => Promise<StaticContent>,
    cacheControl: (request: FastifyRequest) => Promise<string> = async () => COMPARED,
  ) => {
    const content = whenAsked(make);
    route(app, path, async (request, reply) => {
      protect(reply);
      return sendStatic(request, reply, await content(), await cacheControl(request));
    });
  };

  // Programs that ask for the root are told as ever that there is nothing.
  route(app, '/', async (request, reply) => {
    reply.header('vary', 'accept');
    const isBrowser = request.headers.accept?.includes('text/html') === true;
    return isBrowser ? reply.redirect('/docs') : sendRefusal(request, reply, noSuchPath('/', app.routeTable));
  });
  serve('/docs', async () => staticContent(HTML, referencePage((await script()).version)));
  serve(
    '/docs/scalar.js',
    async () => (await script()).content,
    async ({ raw }) => (raw.url?.endsWith(`?v=${(await script()).version}`) === true ? FOR_EVER : COMPARED),
  );
  for (const [path, type, file] of FILES) serve(path, async () => staticContent(type, await readFile(file)));
  for (const { file, path } of guideFiles()) {
    serve(path, async () => staticContent(HTML, await guidePage(file)));
  }
}

function route(
  app: FastifyInstance,
  url: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  app.route({
    method: ['GET', 'HEAD'],
    url,
    // Without the compression of answers, which would do it again for each.
    compress: false,
    // The OpenAPI document is about what programs ask for.
    config: { access: 'open', operation: null },
    handler,
  });
}

function referencePage(version: string): string {
  return page({
    title: 'Store Data API',
    part: 'reference',
    head: `<link rel="preload" as="script" href="/docs/scalar.js?v=${version}">
<script defer src="/docs/reference.js" data-version="${version}"></script>`,
    body: '<div id="reference"></div>\n<noscript>This page needs JavaScript. Its content is in <a href="/openapi.json">openapi.json</a>.</noscript>',
  });
}
