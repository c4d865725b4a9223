/** The frame of all pages for people, and what their browsers may do with them. */
import type { FastifyReply } from 'fastify';

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

const HEADERS = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/** Sets what all pages, and what they load, have in common. */
export function protect(reply: FastifyReply): void {
  reply.headers(HEADERS);
}

const PARTS = [
  ['reference', 'Reference', '/docs'],
  ['events', 'Events', '/docs?api=events'],
  ['guides', 'Guides', '/docs/guides'],
] as const;

export interface Page {
  title: string;
  /** Which part of the site it belongs to; the page of the reference finds out itself. */
  part: 'reference' | 'guides';
  /** HTML for the head and the body. */
  head: string;
  body: string;
}

/** A whole HTML document. */
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
${head}
</head>
<body class="${part}">
<header class="site"><strong>Store Data API</strong><nav>${links.join('')}</nav></header>
${body}
</body>
</html>
`;
}

/** A text as HTML. */
export function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
