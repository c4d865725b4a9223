/** A broker that talks by TLS alone: to whoever has a password or token, and, elsewhere, to whoever has a certificate. */
import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { locateBroker } from '#local/stack/kafka/program.ts';
import { freePorts } from '#local/stack/program/ports.ts';
import type { Authority } from '#test/certificates.ts';
import { makeHome } from '../faults/servers/home.ts';
import { makeServer } from '../faults/servers/server.ts';

export interface SecureBroker {
  /** Wants nothing; who comes there is `User:ANONYMOUS`. */
  inside: string;
  /** Wants a password or a token. */
  passwords: string;
  /** Wants a certificate. */
  certificates: string;
  close: () => Promise<void>;
}

export const USER = 'projector';
export const PASSWORD = 'pass:w+rd%';

const READY_MS = 60_000;
const LOGIN = 'org.apache.kafka.common.security';

/**
 * Starts a broker whose certificate an authority vouches for.
 * @param settings of the broker, which come after ours.
 */
export async function startSecureBroker(
  authority: Authority,
  settings: Record<string, string> = {},
): Promise<SecureBroker> {
  const home = await makeHome();
  const [inside = 0, passwords = 0, certificates = 0, controller = 0] = await freePorts(4);
  const issued = await authority.issue('broker');
  const oneLine = (text: string) => text.replaceAll('\\', '\\\\').replaceAll(/\r?\n/g, '\\n');
  const program = await locateBroker(
    home.context,
    {
      listeners: [
        `INSIDE://127.0.0.1:${inside}`,
        `PASSWORDS://127.0.0.1:${passwords}`,
        `CERTIFICATES://127.0.0.1:${certificates}`,
        `CONTROLLER://127.0.0.1:${controller}`,
      ].join(','),
      'advertised.listeners': [
        `INSIDE://127.0.0.1:${inside}`,
        `PASSWORDS://127.0.0.1:${passwords}`,
        `CERTIFICATES://127.0.0.1:${certificates}`,
      ].join(','),
      'listener.security.protocol.map':
        'CONTROLLER:PLAINTEXT,INSIDE:PLAINTEXT,PASSWORDS:SASL_SSL,CERTIFICATES:SSL',
      'inter.broker.listener.name': 'INSIDE',
      'ssl.keystore.type': 'PEM',
      'ssl.keystore.certificate.chain': oneLine(issued.cert),
      'ssl.keystore.key': oneLine(issued.key),
      'ssl.truststore.type': 'PEM',
      'ssl.truststore.certificates': oneLine(authority.cert),
      'listener.name.certificates.ssl.client.auth': 'required',
      'sasl.enabled.mechanisms': 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER',
      'listener.name.passwords.plain.sasl.jaas.config': `${LOGIN}.plain.PlainLoginModule required user_${USER}="${PASSWORD}";`,
      'listener.name.passwords.scram-sha-256.sasl.jaas.config': `${LOGIN}.scram.ScramLoginModule required;`,
      'listener.name.passwords.scram-sha-512.sasl.jaas.config': `${LOGIN}.scram.ScramLoginModule required;`,
      'listener.name.passwords.oauthbearer.sasl.jaas.config': `${LOGIN}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";`,
      ...settings,
    },
    ['256', '512'].flatMap((bits) => [
      '--add-scram',
      `SCRAM-SHA-${bits}=[name=${USER},password=${PASSWORD}]`,
    ]),
  );
  const { data, logFile } = await home.room('kafka');
  const server = makeServer(
    home.context.guard,
    await program.prepare(data, [inside, controller], logFile),
    inside,
    logFile,
  );
  const close = async () => {
    await server.kill();
    await home.close();
  };
  try {
    await server.start();
    await untilReady(`127.0.0.1:${inside}`);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    inside: `127.0.0.1:${inside}`,
    passwords: `127.0.0.1:${passwords}`,
    certificates: `127.0.0.1:${certificates}`,
    close,
  };
}

async function untilReady(broker: string): Promise<void> {
  const kafka = new kafkajs.Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING });
  for (const end = Date.now() + READY_MS; ; await sleep(100)) {
    const admin = kafka.admin({ retry: { retries: 0 } });
    try {
      await admin.connect();
      await admin.describeGroups(['readiness']);
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
    } finally {
      await admin.disconnect().catch(() => undefined);
    }
  }
}
