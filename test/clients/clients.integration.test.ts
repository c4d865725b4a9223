/**
 * Popular OAuth clients, unmodified, get tokens and read data, however they encode credentials in
 * Basic.
 */
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { anOrder } from '#test/changes.ts';
import { useQueryService } from '#test/hooks.ts';
import { TOKEN_PATH } from '#test/api-client.ts';
import { type NpmClient, runNpmClient } from './npm.ts';
import {
  FETCH_LIMIT_MS,
  prepared,
  prepareGo,
  prepareJava,
  preparePython,
  type Program,
  runProgram,
  settled,
} from './programs.ts';
import { IMPORTED, KEYS, type Result, type Task } from './task.ts';

const service = useQueryService();
let task: Task;
/** The credentials that the token endpoint received, decoded from Basic. */
let sent: string[] = [];

// The downloads run in parallel, while the service starts.
const folderOf = (language: string) => join(import.meta.dirname, language);
const programs = {
  Authlib: settled(preparePython(folderOf('python'), 'oauth-clients', 'clients.py')),
  'golang.org/x/oauth2': settled(prepareGo(folderOf('go'))),
  'Spring Security': settled(
    prepareJava(folderOf('spring'), 'Client.java', {
      title: 'Spring Security 7.1.1',
      name: 'spring-security-7.1.1',
      downloadBytes: 16_000_000,
    }),
  ),
};

beforeAll(async () => {
  for (const { client_id: clientId, client_secret } of KEYS) {
    await service.setKey({ clientId, secrets: [client_secret] });
  }
  await service.apply([anOrder('o1')]);
  service.app.server.on('request', ({ url, headers }) => {
    if (url !== TOKEN_PATH) return;
    const encoded = headers.authorization?.replace(/^Basic /, '') ?? '';
    sent.push(Buffer.from(encoded, 'base64').toString());
  });
  task = {
    token_url: `${service.url}${TOKEN_PATH}`,
    data_url: `${service.url}/api/order/list`,
    keys: KEYS,
  };
});

beforeEach(() => {
  sent = [];
});

/**
 * Asserts one token request per key, a list per key, and the encoding of the imported key's
 * credentials.
 */
function expectAll(results: Result[], imported: string): void {
  expect(results).toEqual(KEYS.map(({ client_id }) => ({ client_id, status: 200, count: 1 })));
  expect(sent).toHaveLength(KEYS.length);
  expect(sent[1]).toBe(imported);
}

const AS_SENT = `${IMPORTED.client_id}:${IMPORTED.client_secret}`;
const QUERY_ESCAPED = 'loja-1_a.b~c%2Bd%25e+f:p-_.~%2B%25%3A+q%2Fr%3D%26%3F';
/** RFC 6749 appendix B encodes everything but letters, digits, `*`, `-`, `.` and `_`. */
const FORM_ENCODED = 'loja-1_a.b%7Ec%2Bd%25e+f:p-_.%7E%2B%25%3A+q%2Fr%3D%26%3F';
const ALL_ENCODED = 'loja%2D1%5Fa%2Eb%7Ec%2Bd%25e+f:p%2D%5F%2E%7E%2B%25%3A+q%2Fr%3D%26%3F';

it.for<[NpmClient, string]>([
  ['oauth4webapi', ALL_ENCODED],
  ['simple-oauth2', QUERY_ESCAPED],
])('a client from npm: %s', async ([name, imported]) => {
  expectAll(await runNpmClient(name, task), imported);
});

it.for<[keyof typeof programs, string]>([
  ['Authlib', AS_SENT],
  ['golang.org/x/oauth2', QUERY_ESCAPED],
  ['Spring Security', FORM_ENCODED],
])(
  'a client in another language: %s',
  { timeout: FETCH_LIMIT_MS },
  async ([name, imported], context) => {
    const program = await prepared<Program>(programs[name], context);
    expectAll((await runProgram(program, task)) as Result[], imported);
  },
);
