/** `keys create`: a new key for a store, or credentials that a client has already. */
import { Command } from '@commander-js/extra-typings';
import { readFile } from 'node:fs/promises';
import { text as readText } from 'node:stream/consumers';
import { hashSecret, newClientId, newClientSecret } from '#shared/access/secrets.ts';
import { commandInvalid, StoreDataError } from '#shared/errors.ts';
import type { AccessKeyData } from '../../access/subject.ts';
import { remarkUnknownStore } from '../../access/store-record.ts';
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
import { changeKey } from './rights.ts';

/** Shorter ones, which we would not make, can be guessed from their hash. */
const SHORTEST_SAFE_SECRET = 22;
const MAX_SECRET_LENGTH = 1_024;

export const createCommand = () =>
  new Command('create')
    .description('Make a key; it is live when the command ends')
    .addOption(storeOption('store whose data it may read').makeOptionMandatory())
    .addOption(environmentOption('environment; needed where there are several'))
    .addOption(scopesOption('--scopes <list>', 'what it may read, separated by commas').makeOptionMandatory())
    .option('--client-id <id>', 'the id of credentials that exist already', readClientId)
    .option('--secret-file <file>', 'file with the secret of --client-id')
    .option('--secret-stdin', 'read the secret of --client-id from standard input')
    .addOption(waitOption())
    .addOption(jsonOption())
    .action(async (flags) => {
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
        await remarkUnknownStore(servers, environment, flags.store);
        const about = {
          action: 'keys.create',
          environment,
          store_id: flags.store,
          details: { scopes: flags.scopes, secret: imported === null ? 'made' : 'brought' },
        } as const;
        const change = {
          compose: (before: AccessKeyData | null) => {
            if (before !== null) throw alreadyThere(clientId, before);
            return key;
          },
        };
        const fresh = { secret: imported === null ? secret : null };
        await changeKey(servers, clientId, flags, about, change, fresh);
      });
    });

function alreadyThere(clientId: string, { environment, store_id, status }: AccessKeyData): StoreDataError {
  return commandInvalid(
    `client_id ${clientId} exists already: store ${store_id} in ${environment}, ${status}`,
  );
}

/** The secret that the operator brings; `null` where one is to be made. */
async function importedSecret({
  clientId,
  secretFile,
  secretStdin,
}: {
  clientId?: string | undefined;
  secretFile?: string | undefined;
  secretStdin?: true | undefined;
}): Promise<string | null> {
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
