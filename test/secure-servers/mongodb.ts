/** A mongod that talks by TLS alone and knows two users: one by a password, one by a certificate. */
import { setTimeout as sleep } from 'node:timers/promises';
import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { locateMongod } from '#local/stack/mongodb/program.ts';
import { REPLICA_SET } from '#local/stack/mongodb/replica-set.ts';
import { freePorts } from '#local/stack/program/ports.ts';
import { type Authority, writeFiles } from '#test/certificates.ts';
import { makeHome } from '../faults/servers/home.ts';
import { makeServer } from '../faults/servers/server.ts';

export interface SecureMongod {
  /** Without credentials. */
  uri: string;
  close: () => Promise<void>;
}

export const USER = 'projector';
export const PASSWORD = 'p@ss:w/ord%';

const READY_MS = 60_000;

/** @param clientSubject who may come with a certificate, as MongoDB writes its subject. */
export async function startSecureMongod(authority: Authority, clientSubject: string): Promise<SecureMongod> {
  const home = await makeHome();
  const { data, logFile } = await home.room('mongod');
  const issued = await authority.issue('mongod');
  const files = await writeFiles(home.path, {
    'ca.pem': authority.cert,
    'server.pem': `${issued.cert}\n${issued.key}`,
    // What members of a replica set know each other by; without it nobody has to say who they are.
    keyfile: randomBytes(48).toString('base64'),
  });
  const [port = 0] = await freePorts(1);
  const program = await locateMongod(home.context);
  const command = await program.prepare(data, [port], logFile);
  const args = [
    ...command.args,
    '--tlsMode=requireTLS',
    `--tlsCertificateKeyFile=${files['server.pem']}`,
    `--tlsCAFile=${files['ca.pem']}`,
    '--tlsAllowConnectionsWithoutCertificates',
    `--keyFile=${files.keyfile}`,
    '--setParameter=authenticationMechanisms=SCRAM-SHA-256,MONGODB-X509',
  ];
  const server = makeServer(home.context.guard, { ...command, args }, port, logFile);
  const close = async () => {
    await server.kill();
    await home.close();
  };
  try {
    await server.start();
    // Until there is a user, whoever comes from this machine may make one.
    await onServer(port, files['ca.pem'], async (client) => {
      const members = [{ _id: 0, host: `127.0.0.1:${port}` }];
      await client.db('admin').command({ replSetInitiate: { _id: REPLICA_SET, members } });
    });
    await onServer(port, files['ca.pem'], async (client) => {
      const roles = ['root'];
      await client.db('admin').command({ createUser: USER, pwd: PASSWORD, roles });
    });
    const auth = { username: USER, password: PASSWORD };
    await onServer(
      port,
      files['ca.pem'],
      async (client) => {
        const roles = [{ role: 'root', db: 'admin' }];
        await client.db('$external').command({ createUser: clientSubject, roles });
      },
      auth,
    );
  } catch (error) {
    await close();
    throw error;
  }
  return { uri: `mongodb://127.0.0.1:${port}/?replicaSet=${REPLICA_SET}`, close };
}

async function onServer(
  port: number,
  tlsCAFile: string,
  work: (client: MongoClient) => Promise<void>,
  auth?: { username: string; password: string },
): Promise<void> {
  for (const end = Date.now() + READY_MS; ; await sleep(100)) {
    const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
      tls: true,
      tlsCAFile,
      serverSelectionTimeoutMS: 1_000,
      ...(auth === undefined ? {} : { auth }),
    });
    try {
      await work(client);
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
    } finally {
      await client.close();
    }
  }
}
