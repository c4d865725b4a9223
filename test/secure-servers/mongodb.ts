/** A mongod that requires TLS and has two users: one with a password, one with a certificate. */
import { randomBytes } from 'node:crypto';
import { MongoClient } from 'mongodb';
import { locateMongod, REPLICA_SET } from '#local/stack/mongodb/mongodb.ts';
import { freePorts } from '#local/stack/program.ts';
import { type Authority, writeFiles } from '#test/certificates.ts';
import { eventually } from '#test/eventually.ts';
import { succeeds } from '#test/succeeds.ts';
import { makeHome } from '../faults/servers/home.ts';
import { makeServer, onFreePorts, startAll } from '../faults/servers/server.ts';

export const USER = 'projector';
export const PASSWORD = 'p@ss:w/ord%';

const READY_MS = 60_000;

/**
 * Starts a replica set of one member or three.
 * @param clientSubject the certificate subject of the user, as MongoDB writes it.
 */
export async function startSecureMongod(
  authority: Authority,
  clientSubject: string,
  size: 1 | 3 = 1,
  ports?: number[],
) {
  const started = await startUninitiatedMongods(authority, size, { ports });
  const { uri, caFile, hosts } = started;
  try {
    await using first = connect(directly(hosts[0]), caFile);
    const members = hosts.map((host, _id) => ({ _id, host }));
    // Several members wait that long before the first election.
    const settings = { electionTimeoutMillis: 1_000 };
    await first.db('admin').command({ replSetInitiate: { _id: REPLICA_SET, members, settings } });
    // Until a user exists, any local client may create one.
    await using anyone = connect(uri, caFile);
    await anyone.db('admin').command({ createUser: USER, pwd: PASSWORD, roles: ['root'] });
    await using user = connect(uri, caFile, { username: USER, password: PASSWORD });
    const roles = [{ role: 'root', db: 'admin' }];
    await user.db('$external').command({ createUser: clientSubject, roles });
  } catch (error) {
    await started.close();
    throw error;
  }
  return started;
}

interface MemberOptions {
  /** Whether clients need credentials. */
  authentication?: boolean;
  ports?: number[] | undefined;
}

/** Starts members without a replica set configuration; all of them answer. */
export function startUninitiatedMongods(
  authority: Authority,
  size: 1 | 3,
  options: MemberOptions = {},
) {
  return onFreePorts(() => startOnce(authority, size, options));
}

async function startOnce(
  authority: Authority,
  size: 1 | 3,
  { authentication = true, ports: given }: MemberOptions,
) {
  const home = await makeHome();
  const issued = await authority.issue('mongod');
  const files = await writeFiles(home.path, {
    'ca.pem': authority.cert,
    'server.pem': `${issued.cert}\n${issued.key}`,
    // The members' shared secret; without it clients need no credentials.
    keyfile: randomBytes(48).toString('base64'),
  });
  const ports = given ?? (await freePorts(size));
  const program = await locateMongod(home.context);
  const servers = await Promise.all(
    ports.map(async (port, index) => {
      const { data, logFile } = await home.room(`mongod-${index + 1}`);
      const command = await program.prepare(
        data,
        [port],
        logFile,
        size === 1 ? undefined : { index, ports: [] },
      );
      const args = [
        ...command.args,
        '--tlsMode=requireTLS',
        `--tlsCertificateKeyFile=${files['server.pem']}`,
        `--tlsCAFile=${files['ca.pem']}`,
        '--tlsAllowConnectionsWithoutCertificates',
        ...(authentication ? [`--keyFile=${files.keyfile}`] : []),
        '--setParameter=authenticationMechanisms=SCRAM-SHA-256,MONGODB-X509',
      ];
      return makeServer(home.context.guard, { ...command, args }, port, logFile);
    }),
  );
  const close = async () => {
    await Promise.all(servers.map((server) => server.kill()));
    await home.close();
  };
  const hosts = ports.map((port) => `127.0.0.1:${port}`);
  try {
    // A client whose first connection failed may never connect again.
    const ping = async (host: string) => {
      await using client = connect(directly(host), files['ca.pem']);
      await client.db('admin').command({ ping: 1 });
    };
    const answers = (host: string) =>
      eventually(`${host} answers`, () => succeeds(ping(host)), READY_MS);
    await startAll(servers, () => Promise.all(hosts.map(answers)));
  } catch (error) {
    await close();
    throw error;
  }
  const uri = `mongodb://${hosts.join(',')}/?replicaSet=${REPLICA_SET}`;
  return {
    /** An address without credentials. */
    uri,
    hosts,
    ports,
    caFile: files['ca.pem'],
    close,
    [Symbol.asyncDispose]: close,
  };
}

const directly = (host = '') =>
  `mongodb://${host}/?directConnection=true&serverSelectionTimeoutMS=5000`;

function connect(
  uri: string,
  tlsCAFile: string,
  auth?: { username: string; password: string },
): MongoClient {
  return new MongoClient(uri, {
    tls: true,
    tlsCAFile,
    ...(auth && { auth }),
  });
}
