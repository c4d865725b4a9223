// Follows the store that the key belongs to, until Ctrl-C. With `--print` it prints the copy instead.
import { Copy, type Kind, KINDS } from './copy.ts';
import { followStore } from './follow.ts';

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

const copy = new Copy(process.env['COPY'] ?? 'store.sqlite');
if (process.argv[2] === '--print') {
  copy.print();
} else {
  await followStore({
    baseUrl: required('BASE_URL'),
    clientId: required('CLIENT_ID'),
    clientSecret: required('CLIENT_SECRET'),
    kinds: (process.env['KINDS']?.split(',') as Kind[] | undefined) ?? KINDS,
    share: Number(process.env['QUOTA_SHARE'] ?? 1),
    copy,
    signal: stop.signal,
    taken: (changes) => {
      if (changes > 0) console.log(`${changes} changes`);
    },
  });
}
copy.close();

function required(name: string): string {
  const value = process.env[name];
  if (value !== undefined && value !== '') return value;
  console.error(`${name} is not set`);
  return process.exit(2);
}
