/** `keys create`: a new key for a store, or credentials that a client has already. */
import type { Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { text as readText } from 'node:stream/consumers';
import { hashSecret, newClientId, newClientSecret } from '#shared/access/secrets.ts';
import { StoreDataError } from '#shared/errors.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { AccessKeyData } from '../../access/announce.ts';
import { NotLiveYet } from '../../access/change.ts';
import { keySubject } from '../../access/key-subject.ts';
import { hasStoreRecord } from '../../access/store-record.ts';
import { auditedChange } from '../../audit/audited-change.ts';
import { withServers } from '../../connection/servers.ts';
import {
  chooseEnvironment,
  clientId as readClientId,
  environmentOption,
  jsonOption,
  scopesOption,
  storeOption,
  waitOption,
  WrongUsage,
} from '../../options.ts';
import { remark } from '../../output/print.ts';
import { printKey } from './print-key.ts';

interface Flags {
  store: string;
  environment?: string;
  scopes: Scope[];
  clientId?: string;
  secretFile?: string;
  secretStdin?: true;
  wait: number;
  json?: true;
}

const EXAMPLES = `
The secret is printed once and stored nowhere; only its SHA-256 travels.

Examples:
  npm run store-data -- keys create -s s1 -e production --scopes order,crm
  npm run store-data -- keys create -s s1 -e production --scopes order \\
    --client-id pos-17 --secret-file ./pos-17.secret`;

/** Shorter ones, which we would not make, can be guessed from their hash. */
const SHORTEST_SAFE_SECRET = 22;
const MAX_SECRET_LENGTH = 1_024;

export function addCreateCommand(keys: Command): void {
  keys
    .command('create')
    .description('Make a key; it is live when the command ends')
    .addOption(storeOption('store whose data it may read').makeOptionMandatory())
    .addOption(environmentOption('environment; needed where there are several'))
    .addOption(scopesOption('--scopes <list>', 'what it may read, separated by commas').makeOptionMandatory())
    .option('--client-id <id>', 'the id of credentials that exist already', readClientId)
    .option('--secret-file <file>', 'file with the secret of --client-id')
    .option('--secret-stdin', 'read the secret of --client-id from standard input')
    .addOption(waitOption())
    .addOption(jsonOption())
    .addHelpText('after', EXAMPLES)
    .action(create);
}

async function create(flags: Flags): Promise<void> {
  const imported = await importedSecret(flags);
  await withServers(async (servers) => {
    const environment = chooseEnvironment(servers.config, flags.environment);
    const clientId = flags.clientId ?? newClientId();
    const secret = imported ?? newClientSecret();
    const hash = hashSecret(secret);
    const key: AccessKeyData = {
      environment,
      store_id: flags.store,
      secret_sha256: [hash],
      scopes: flags.scopes,
      status: 'active',
    };
    if (!(await hasStoreRecord(servers, environment, flags.store))) {
      remark(`note: no record of a store ${flags.store} has arrived in ${environment} yet`);
    }
    const shown = { json: flags.json === true, ...(imported === null ? { secret } : {}) };
    try {
      const about = {
        action: 'keys.create',
        environment,
        store_id: flags.store,
        client_id: clientId,
        details: { scopes: flags.scopes, secret: imported === null ? 'made' : 'brought' },
      } as const;
      const changed = await auditedChange(servers, about, keySubject(clientId, servers.config.namePrefix), {
        compose: (before) => {
          if (before !== null) throw alreadyThere(clientId, before);
          return key;
        },
        holds: ({ secret_sha256 }) => secret_sha256.includes(hash),
        waitMs: flags.wait * 1_000,
      });
      printKey(clientId, changed, shown);
    } catch (error) {
      // The key is on its way, and its secret is nowhere else.
      if (error instanceof NotLiveYet) printKey(clientId, { state: key, changed: true, live: false }, shown);
      throw error;
    }
  });
}

function alreadyThere(clientId: string, { environment, store_id, status }: AccessKeyData): StoreDataError {
  return new StoreDataError(
    'command_invalid',
    `client_id ${clientId} exists already: store ${store_id} in ${environment}, ${status}`,
  );
}

/** The secret that the operator brings; `null` where one is to be made. */
async function importedSecret({ clientId, secretFile, secretStdin }: Flags): Promise<string | null> {
  if (secretFile !== undefined && secretStdin === true) {
    throw new WrongUsage('--secret-file and --secret-stdin exclude each other');
  }
  if (secretFile === undefined && secretStdin !== true) return null;
  if (clientId === undefined) throw new WrongUsage('a secret of your own needs its --client-id');
  const secret = (await readSecret(secretFile)).replace(/\r?\n$/, '');
  if (secret === '' || secret.length > MAX_SECRET_LENGTH || /\p{Cc}/u.test(secret)) {
    throw new WrongUsage(
      `the secret must be one line of 1 to ${MAX_SECRET_LENGTH} characters without control characters`,
    );
  }
  if (secret.length < SHORTEST_SAFE_SECRET) {
    remark(`note: a secret of less than ${SHORTEST_SAFE_SECRET} characters can be guessed from its hash`);
  }
  return secret;
}

async function readSecret(file: string | undefined): Promise<string> {
  if (file === undefined) return readText(process.stdin);
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new StoreDataError('not_found', `the secret file ${file} cannot be read`, { cause: error });
  }
}
