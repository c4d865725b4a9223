// The smallest client that follows changes: it keeps its copy, with the place where it goes on, in
// one file.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

const { BASE_URL, CLIENT_ID, CLIENT_SECRET, COPY } = process.env;
let copy = { after: '', timezone_offset: '', records: {} };
try {
  copy = JSON.parse(readFileSync(COPY, 'utf8'));
} catch {
  // The first start.
}

if (process.argv.includes('--print')) {
  const { records, timezone_offset } = copy;
  for (const [name, record] of Object.entries(records)) {
    const [kind, id] = name.split('/');
    process.stdout.write(`${JSON.stringify({ kind, id, record, timezone_offset })}\n`);
  }
  process.exit(0);
}

async function newToken() {
  const authorization = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}`;
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  const answer = await fetch(`${BASE_URL}/api/auth/token/`, {
    method: 'POST',
    headers: { authorization },
    body,
  });
  return (await answer.json()).access_token;
}

for (let token; ;) {
  try {
    token ??= await newToken();
    const after = copy.after === '' ? '' : `&after=${copy.after}`;
    const url = `${BASE_URL}/api/changes?records=whole&page_size=1000&wait=5${after}`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    if (answer.status === 401) token = undefined;
    if (!answer.ok) throw new Error(String(answer.status));
    const { results, next, timezone_offset } = await answer.json();
    for (const { kind, id, deleted, record } of results) {
      if (deleted) delete copy.records[`${kind}/${id}`];
      else copy.records[`${kind}/${id}`] = record;
    }
    Object.assign(copy, { after: next, timezone_offset });
    writeFileSync(`${COPY}.new`, JSON.stringify(copy));
    renameSync(`${COPY}.new`, COPY);
  } catch {
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}
