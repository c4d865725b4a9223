/** `verify`: whether counts and rank trees are what the records say, counted one by one; and makes them so. */
import type { Command } from 'commander';
import type { Db } from 'mongodb';
import { repairStore } from '#projector/ranking/repair.ts';
import { type Difference, verifyStore } from '#projector/ranking/verify.ts';
import { StoreDataError } from '#shared/errors.ts';
import { type Stamp, STAMPS } from '#shared/read-models/collections.ts';
import { findLiveGeneration, PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { type Servers, withServers } from '../connection/servers.ts';
import { chooseEnvironments, environmentOption, jsonOption, storeOption } from '../options.ts';
import { markFailed, print, printJson, remark } from '../output/print.ts';
import { renderTable } from '../output/table.ts';

interface Flags {
  environment?: string;
  store?: string;
  repair?: true;
  json?: true;
}

interface Found extends Difference {
  environment: string;
}

const HELP = `
Each store is read in one snapshot, beside services at work. Where something differs it ends with
exit code 1; with --repair the store's counts and trees are made anew, and it ends with 1
only where they still differ then.

Examples:
  npm run store-data -- verify
  npm run store-data -- verify -e production --store s1 --repair`;

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description('Count records one by one, and compare counts and rank trees with that')
    .addOption(environmentOption('only that environment'))
    .addOption(storeOption('only that store'))
    .option('--repair', 'make what differs anew')
    .addOption(jsonOption())
    .addHelpText('after', HELP)
    .action(verify);
}

async function verify(flags: Flags): Promise<void> {
  await withServers(async (servers) => {
    const found: Found[] = [];
    let stores = 0;
    let repaired = 0;
    for (const environment of chooseEnvironments(servers.config, flags.environment)) {
      const db = await openGeneration(servers, environment);
      if (db === null) continue;
      for (const storeId of await storesOf(db, flags.store)) {
        stores += 1;
        let differences = await verifyInSnapshot(servers, db, storeId);
        if (differences.length > 0 && flags.repair) {
          remark(`${environment}: ${storeId} differs in ${differences.length} places, and is made anew`);
          await repairStore(await servers.mongodb(), db, storeId);
          repaired += 1;
          differences = await verifyInSnapshot(servers, db, storeId);
        }
        found.push(...differences.map((difference) => ({ environment, ...difference })));
      }
    }
    if (flags.store !== undefined && stores === 0) {
      throw new StoreDataError('not_found', `no record of a store ${flags.store} has arrived`);
    }
    show(found, stores, repaired, flags.json === true);
    if (found.length > 0) markFailed();
  });
}

/** @returns `null` where no generation was made yet. */
async function openGeneration(servers: Servers, environment: string): Promise<Db | null> {
  const generation = await findLiveGeneration(
    await servers.mongodb(),
    servers.config.namePrefix,
    environment,
  );
  if (generation === null) return null;
  const { number, projection_version: version } = generation.marker;
  if (version !== PROJECTION_VERSION) {
    throw new StoreDataError(
      'generation_unsuitable',
      `generation ${number} of ${environment} has projection version ${version}, this release verifies ${PROJECTION_VERSION}`,
    );
  }
  return generation.db;
}

async function storesOf(db: Db, only: string | undefined): Promise<string[]> {
  const stamps = db
    .collection<Stamp>(STAMPS)
    .find(only === undefined ? {} : { _id: only }, { projection: { _id: 1 }, sort: { _id: 1 } });
  return (await stamps.toArray()).map(({ _id }) => _id);
}

async function verifyInSnapshot(servers: Servers, db: Db, storeId: string): Promise<Difference[]> {
  const client = await servers.mongodb();
  return client.withSession({ snapshot: true }, (session) => verifyStore(db, session, storeId));
}

function show(found: readonly Found[], stores: number, repaired: number, json: boolean): void {
  if (json) {
    const differences = found.map(({ environment, storeId, what, stored, counted }) => ({
      environment,
      store: storeId,
      what,
      stored,
      counted,
    }));
    printJson({ stores, repaired, differences });
    return;
  }
  if (found.length > 0) {
    print(
      renderTable(
        [
          { title: 'ENVIRONMENT' },
          { title: 'STORE' },
          { title: 'WHAT', fills: true },
          { title: 'STORED' },
          { title: 'COUNTED' },
        ],
        found.map(({ environment, storeId, what, stored, counted }) => [
          environment,
          storeId,
          what,
          shortened(stored),
          shortened(counted),
        ]),
      ),
    );
  }
  const after = repaired > 0 ? `, ${repaired} made anew` : '';
  print(
    `${stores} stores verified${after}: ${found.length === 0 ? 'all is right' : `${found.length} differences`}`,
  );
}

/** Counts of all facets would fill the screen; `--json` has them whole. */
function shortened(text: string): string {
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN - 1)}…` : text;
}

const MOST_SHOWN = 30;
