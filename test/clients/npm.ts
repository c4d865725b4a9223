/** OAuth clients from npm, used as their documentation shows. */
import * as oauth from 'oauth4webapi';
import { ClientCredentials } from 'simple-oauth2';
import type { ClientKey, Result, Task } from './task.ts';

async function oauth4webapi(
  task: Task,
  { client_id, client_secret }: ClientKey,
): Promise<Response> {
  const server = { issuer: new URL(task.token_url).origin, token_endpoint: task.token_url };
  const insecure = { [oauth.allowInsecureRequests]: true };
  const authentication = oauth.ClientSecretBasic(client_secret);
  const response = await oauth.clientCredentialsGrantRequest(
    server,
    { client_id },
    authentication,
    { scope: 'order' },
    insecure,
  );
  const { access_token } = await oauth.processClientCredentialsResponse(
    server,
    { client_id },
    response,
  );
  return oauth.protectedResourceRequest(
    access_token,
    'GET',
    new URL(task.data_url),
    undefined,
    undefined,
    insecure,
  );
}

/** Encodes credentials as RFC 6749 says. */
async function simpleOauth2(
  task: Task,
  { client_id: id, client_secret: secret }: ClientKey,
): Promise<Response> {
  const { origin: tokenHost, pathname: tokenPath } = new URL(task.token_url);
  const client = new ClientCredentials({
    client: { id, secret },
    auth: { tokenHost, tokenPath },
    options: { credentialsEncodingMode: 'strict' },
  });
  const { token } = await client.getToken({ scope: 'order' });
  return fetch(task.data_url, {
    headers: { authorization: `Bearer ${String(token['access_token'])}` },
  });
}

const CLIENTS = { oauth4webapi, 'simple-oauth2': simpleOauth2 };

export type NpmClient = keyof typeof CLIENTS;

/** Runs a task with a client. Rejects with the client's own error. */
export async function runNpmClient(name: NpmClient, task: Task): Promise<Result[]> {
  const results: Result[] = [];
  for (const key of task.keys) {
    const response = await CLIENTS[name](task, key);
    const { count } = (await response.json()) as { count: number };
    results.push({ client_id: key.client_id, status: response.status, count });
  }
  return results;
}
