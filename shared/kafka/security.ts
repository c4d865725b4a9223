/** How a client shows Kafka who it is, and knows whom it talks to. */
import type { KafkaConfig, SASLOptions } from 'kafkajs';
import { readPassword, readTlsFiles } from '../config/files.ts';
import type { Config } from '../config.ts';
import { StoreDataError } from '../errors.ts';

const TOKEN_TIMEOUT_MS = 5_000;

/** What kafkajs is told of TLS and SASL; nothing where neither is set. */
export function kafkaSecurity({ tls, sasl }: Config['kafka']): Pick<KafkaConfig, 'ssl' | 'sasl'> {
  return {
    ...(tls.enabled ? { ssl: readTlsFiles(tls) } : {}),
    ...(sasl.mechanism === null ? {} : { sasl: saslOf(sasl.mechanism, sasl) }),
  };
}

type Sasl = Config['kafka']['sasl'];

function saslOf(mechanism: NonNullable<Sasl['mechanism']>, sasl: Sasl): SASLOptions {
  const credentials = { username: sasl.username ?? '', password: readPassword(sasl) ?? '' };
  if (mechanism !== 'oauthbearer') return { mechanism, ...credentials };
  return { mechanism, oauthBearerProvider: () => fetchToken(sasl, credentials) };
}

/** A token by the client credentials grant (RFC 6749 section 4.4); kafkajs asks for one with each connection. */
async function fetchToken(
  { tokenUrl, scope }: Sasl,
  { username, password }: { username: string; password: string },
): Promise<{ value: string }> {
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    ...(scope === null ? {} : { scope }),
  });
  const unavailable = (why: string, cause?: unknown) =>
    new StoreDataError('environment_unavailable', `no token for Kafka: ${why}`, { cause });
  const response = await fetch(tokenUrl ?? '', {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` },
    body: form,
    signal: AbortSignal.timeout(TOKEN_TIMEOUT_MS),
  }).catch((error: unknown) => {
    throw unavailable('its endpoint cannot be reached', error);
  });
  if (!response.ok) throw unavailable(`its endpoint answered ${response.status}`);
  const { access_token: token } = (await response.json()) as { access_token?: unknown };
  if (typeof token !== 'string') throw unavailable('its endpoint answered without a token');
  return { value: token };
}
