/** Services that do not run, or cannot read their keys. */
import { readFile, writeFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { runCommand } from '../../../services/admin/run-command.ts';
import type { Drill } from '../drill.ts';

export const SERVICES: readonly Drill[] = [
  {
    name: 'the only projector hangs, and is started anew',
    alerts: [
      'StoreDataProjectorsGone',
      'StoreDataInstanceDown',
      'StoreDataGenerationNotProjected',
      'StoreDataNothingFetched',
    ],
    async cause({ projector }) {
      projector.freeze();
      return async () => {
        await projector.kill();
        await projector.start();
      };
    },
  },
  {
    name: 'the only query service ends, and is started',
    alerts: ['StoreDataQueryServicesGone', 'StoreDataInstanceDown'],
    async cause({ query }) {
      await query.kill();
      return query.start;
    },
  },
  {
    name: 'the file of the signing keys is broken, and is restored',
    alerts: ['StoreDataSigningKeysBroken'],
    async cause({ installation, signingKeys, query }) {
      const intact = await readFile(signingKeys);
      await writeFile(signingKeys, intact.subarray(1));
      return async () => {
        await query.logged(
          ({ msg }) => msg?.startsWith('signing keys cannot be read again') === true,
        );
        const { code, stderr } = await runCommand(installation.env, 'signing-keys list');
        expect([code, stderr]).toEqual([1, expect.stringContaining(signingKeys)]);
        await writeFile(signingKeys, intact);
      };
    },
  },
];
