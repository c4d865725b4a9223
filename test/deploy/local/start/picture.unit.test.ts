import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LiveView } from '#local/start/figures.ts';
import { firstRequests } from '#local/start/screen.ts';

const texts = (svg: string) =>
  svg
    .matchAll(/<text[^>]*>([^<]*)<\/text>/g)
    .map(([, text]) => text ?? '')
    .toArray();

describe('the picture of the README', () => {
  const svg = readFileSync(new URL('../../../../docs/start.svg', import.meta.url), 'utf8');

  it('shows what `npm start` shows', () => {
    const view = new LiveView(5, 0);
    view.take({ projector: null, answers: null, orders: new Map() }, 0);
    const shown = texts(svg).join('\n');
    const words =
      view
        .panel(0)
        .join('\n')
        .match(/[a-z]{4,}/g) ?? [];
    for (const word of words.filter((word) => !/answer|does|projector|query|service/.test(word)))
      expect(shown).toContain(word);
    const key = {
      client_id: 'CLIENT_ID',
      client_secret: 'CLIENT_SECRET',
      store_id: 's1',
      environment: 'production',
      scopes: [],
    };
    const { token, groups } = firstRequests('http://127.0.0.1:8080', key);
    const unescaped = shown
      .replaceAll('&amp;', '&')
      .replaceAll('&quot;', '"')
      .replaceAll('&gt;', '>');
    for (const line of [...token, ...groups]) expect(unescaped).toContain(line.trim());
  });
});
