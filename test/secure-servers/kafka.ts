/** A broker with TLS only: one port requires a password or a token, another one a certificate. */
import { kafkaPart, locateBroker } from '#local/stack/kafka/kafka.ts';
import { freePorts } from '#local/stack/program.ts';
import type { Authority, Issued } from '#test/certificates.ts';
import { makeHome } from '../faults/servers/home.ts';
import { makeServer } from '../faults/servers/server.ts';

export const USER = 'projector';
export const PASSWORD = 'pass:w+rd%';

const LOGIN = 'org.apache.kafka.common.security';

/**
 * Starts one broker or three with certificates of an authority.
 * @param settings of the brokers, after the defaults.
 */
export async function startSecureBroker(
  authority: Authority,
  settings: Record<string, string> = {},
  size: 1 | 3 = 1,
) {
  const home = await makeHome();
  const ports = await freePorts(4 * size);
  const nodes = Array.from({ length: size }, (_, index) => {
    const [inside = 0, passwords = 0, certificates = 0, controller = 0] = ports.slice(4 * index);
    return { inside, passwords, certificates, controller };
  });
  const members = nodes.map(({ inside, controller }) => [inside, controller]);
  const issued = await authority.issue('broker');
  const servers = await Promise.all(
    nodes.map(async (node, index) => {
      const program = await locateBroker(
        home.context,
        { ...listenersOf(node), ...securityOf(authority, issued), ...settings },
        ['256', '512'].flatMap((bits) => [
          '--add-scram',
          `SCRAM-SHA-${bits}=[name=${USER},password=${PASSWORD}]`,
        ]),
      );
      const { data, logFile } = await home.room(`kafka-${index + 1}`);
      const member = size === 1 ? undefined : { index, ports: members };
      const command = await program.prepare(data, [node.inside, node.controller], logFile, member);
      return makeServer(home.context.guard, command, node.inside, logFile);
    }),
  );
  const close = async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await home.close();
  };
  const addresses = (listener: 'inside' | 'passwords' | 'certificates') =>
    nodes.map((node) => `127.0.0.1:${node[listener]}`).join(',');
  try {
    await Promise.all(servers.map((server) => server.start()));
    const inside = nodes.map((node) => node.inside);
    await kafkaPart.awaitReady(inside, new AbortController().signal);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    /** Requires no credentials; clients are `User:ANONYMOUS`. */
    inside: addresses('inside'),
    /** Requires a password or a token. */
    passwords: addresses('passwords'),
    certificates: addresses('certificates'),
    close,
  };
}

function listenersOf(node: Record<'inside' | 'passwords' | 'certificates' | 'controller', number>) {
  const clients = [
    `INSIDE://127.0.0.1:${node.inside}`,
    `PASSWORDS://127.0.0.1:${node.passwords}`,
    `CERTIFICATES://127.0.0.1:${node.certificates}`,
  ];
  return {
    listeners: [...clients, `CONTROLLER://127.0.0.1:${node.controller}`].join(','),
    'advertised.listeners': clients.join(','),
    'listener.security.protocol.map':
      'CONTROLLER:PLAINTEXT,INSIDE:PLAINTEXT,PASSWORDS:SASL_SSL,CERTIFICATES:SSL',
    'inter.broker.listener.name': 'INSIDE',
  };
}

function securityOf(authority: Authority, issued: Issued): Record<string, string> {
  const oneLine = (text: string) => text.replaceAll('\\', '\\\\').replaceAll(/\r?\n/g, '\\n');
  return {
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
  };
}
