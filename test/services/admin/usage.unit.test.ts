import { expect, it } from 'vitest';
import { expectRefused, runCommand } from './run-command.ts';

it.each([
  ['keys create -s s1 --scopes orders', /no scope "orders"; allowed: store, crm, order/],
  ['keys create -s s:1 --scopes order', /A store id is 1 to 64/],
  ['keys create -s s1 --scopes order --client-id a:b', /without ":"/],
  ['quota set -s s1 --requests 0', /whole number from 1 to 1000000000/],
  ['dead-letters show x', /<topic>\/<partition>\/<offset>/],
  ['lag --frequently', /unknown option '--frequently'/],
])('the command line says of "%s" on one line what is allowed', async (words, message) => {
  const running = runCommand({}, words);
  await expectRefused(running, message, 2);
  expect((await running).stderr).toMatch(/^store-data: [^\n]+; see store-data[a-z -]* --help\n$/);
});

it.each([
  ['keys create -s s1 --scopes order --secret-file -', /needs its --client-id/],
  ['prepare --dry-run', /--dry-run goes with --shard/],
  ['sessions revoke', /give a session id, or --token/],
  ['sessions revoke abc', /32 hexadecimal digits/],
  [`sessions revoke ${'0'.repeat(32)} -s s1`, /needs --store, --environment and --client/],
  ['sessions revoke abc --token', /--token names everything/],
  ['dead-letters retry --all --reason malformed', /give either ids/],
  ['dead-letters retry a/0/1 -e x', /leave out --environment/],
  ['dead-letters show a/0/1 --raw --json', /--raw goes with no other option/],
])('the command line refuses "%s" before it connects to anything', async (words, message) => {
  await expectRefused(runCommand({}, words), message, 2);
});
