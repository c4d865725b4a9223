/**
 * `verify`: whether counts, rank trees and feed positions are what the records say, counted one by one, and makes them so; with `--deep`
 * also whether the records are what the log says.
 */
import { Command } from '@commander-js/extra-typings';
import type { Db } from 'mongodb';
import { type FindErased, findErasedIn } from '#shared/access/erased-stores.ts';
import { repairStore } from '#shared/projection/verify/repair.ts';
import { type Difference, verifyStore } from '#shared/projection/verify/store.ts';
import { notFound, StoreDataError } from '#shared/errors.ts';
import { forSnapshots } from '#shared/mongodb.ts';
import { findLiveGeneration, PROJECTION_VERSION } from '#shared/read-models/generation.ts';
import { type Servers, withServers } from '../connection/servers.ts';
import { chooseEnvironments, environmentOption, jsonOption, storeOption } from '../options.ts';
import { ProgressLine, stopSignal } from '../output/terminal.ts';
import { hasAnything, storesIn } from '../comparison.ts';
import { compareWithLog } from '../verify/with-log.ts';
import { markFailed, printResult, remark, tableOf } from '../output/print.ts';

interface Found extends Difference {
  environment: string;
}

interface Result {
  found: Found[];
  stores: number;
  repaired: number;
  /** Of a deep verification; `null` without one. */
  deep: { records: number; messages: number; differences: number } | null;
}

export const verifyCommand = () =>
  new Command('verify')
    .description('Count records one by one, and compare counts, rank trees and feed positions with that')
    .addOption(environmentOption('only that environment'))
    .addOption(storeOption('only that store'))
    .option('--deep', 'compare every record with the log too')
    .option(
      '--repair',
      'make what differs anew, and tell followers again what had no feed position of its own',
    )
    .addOption(jsonOption())
    .action((flags) =>
      withServers(async (servers) => {
        const deep = flags.deep ? { records: 0, messages: 0, differences: 0 } : null;
        const result: Result = { found: [], stores: 0, repaired: 0, deep };
        const stopping = stopSignal();
        for (const environment of chooseEnvironments(servers.config, flags.environment)) {
          const db = await openGeneration(servers, environment);
          if (db === null) continue;
          const findErased = findErasedIn(await servers.control(), environment);
          await verifyCounts(environment, db, flags, findErased, result);
          if (flags.deep) await verifyDeep(servers, environment, db, flags, result, stopping);
        }
        if (flags.store !== undefined && result.stores === 0 && result.found.length === 0) {
          throw notFound(`no record of a store ${flags.store} has arrived`);
        }
        show(result, flags);
        if (result.found.length > 0) markFailed();
      }),
    );

async function verifyCounts(
  environment: string,
  db: Db,
  { store, repair }: { store?: string | undefined; repair?: true | undefined },
  findErased: FindErased,
  result: Result,
): Promise<void> {
  for (const storeId of await storesOf(db, store)) {
    result.stores += 1;
    let differences = await verifyInSnapshot(db, storeId);
    if (differences.length > 0 && repair) {
      remark(`${environment}: ${storeId} differs in ${differences.length} places, and is made anew`);
      await repairStore(db, storeId, findErased);
      result.repaired += 1;
      differences = await verifyInSnapshot(db, storeId);
    }
    result.found.push(...differences.map((difference) => ({ environment, ...difference })));
  }
}

async function verifyDeep(
  servers: Servers,
  environment: string,
  db: Db,
  { store, json }: { store?: string | undefined; json?: true | undefined },
  result: Result,
  stopping: AbortSignal,
): Promise<void> {
  const progress = new ProgressLine();
  const say = (text: string) => {
    if (!json) progress.show(text);
  };
  const options = { only: store ?? null, say, stopping };
  const compared = await compareWithLog(servers, environment, db, options).finally(() => progress.clear());
  result.found.push(...compared.listed.map((difference) => ({ environment, ...difference })));
  if (result.deep === null) return;
  result.deep.records += compared.records;
  result.deep.messages += compared.messages;
  result.deep.differences += compared.differences;
}

/** @returns `null` where no generation was made yet. */
async function openGeneration(servers: Servers, environment: string): Promise<Db | null> {
  const generation = await findLiveGeneration(await servers.databases(environment), environment);
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
  if (only === undefined) return [...(await storesIn(db))].toSorted();
  return (await hasAnything(db, only)) ? [only] : [];
}

async function verifyInSnapshot(db: Db, storeId: string): Promise<Difference[]> {
  return db.client.withSession({ snapshot: true }, (session) =>
    verifyStore(forSnapshots(db), session, storeId),
  );
}

function show({ found, stores, repaired, deep }: Result, flags: { json?: true | undefined }): void {
  const differences = found.map(({ environment, storeId: store, what, stored, counted }) => ({
    environment,
    store,
    what,
    stored,
    counted,
  }));
  const table = tableOf(differences, [
    ['ENVIRONMENT', 'environment'],
    ['STORE', 'store'],
    ['WHAT', 'what', 'fills'],
    ['STORED', ({ stored }) => shortened(stored)],
    ['EXPECTED', ({ counted }) => shortened(counted)],
  ]);
  const after = repaired > 0 ? `, ${repaired} made anew` : '';
  const compared =
    deep === null ? '' : `, ${deep.records} records compared with the ${deep.messages} messages of the log`;
  // Not all that a deep verification finds is listed.
  const unlisted = Math.max(0, (deep?.differences ?? 0) - found.length);
  const verdict = found.length === 0 ? 'all is right' : `${found.length + unlisted} differences`;
  printResult(
    flags,
    { stores, repaired, ...(deep !== null && { deep }), differences },
    `${found.length > 0 ? table : ''}${stores} stores verified${after}${compared}: ${verdict}`,
  );
}

/** Counts of all facets would fill the screen; `--json` has them whole. */
function shortened(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text;
}

const MAX_SHOWN = 30;
