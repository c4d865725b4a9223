/**
 * Runs the slowest files first, so that no worker is left with one of them while the others idle.
 */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Paths below `test/`, for a clean clone without recorded durations. Files that start JVMs,
 * compilers and installers alternate with files that mostly wait.
 */
export const LONGEST = [
  'services/query/read/bounds.integration.test.ts',
  'deploy/local/start/start.integration.test.ts',
  'package/package.integration.test.ts',
  'services/logs.integration.test.ts',
  'examples/follow-orders.integration.test.ts',
  'deploy/clients/clients.integration.test.ts',
  'clients/generated.integration.test.ts',
  'services/admin/erase-store.integration.test.ts',
  'simulation/simulation.integration.test.ts',
  'released/upgrade.integration.test.ts',
  'services/projector/access/floods.integration.test.ts',
  'security/slow-clients.integration.test.ts',
  'deploy/local/stack/stack.integration.test.ts',
  'shared/projection/erasure/erasures.integration.test.ts',
  'services/query/imported-redis.integration.test.ts',
  'examples/behind-proxy.integration.test.ts',
  'trial/trial.integration.test.ts',
  'services/admin/access.integration.test.ts',
  'services/admin/verify-deep.integration.test.ts',
  'services/query/lists/windows.integration.test.ts',
  'services/query/restored-redis.integration.test.ts',
  'services/query/waiting.integration.test.ts',
  'secure-servers/privileges.integration.test.ts',
  'shared/projection/verify/damages.integration.test.ts',
  'services/admin/signing-keys.integration.test.ts',
  'services/projector/restored.integration.test.ts',
  'security/parameters.integration.test.ts',
  'deploy/clients/packed.integration.test.ts',
  'sharding/sharding.integration.test.ts',
  'clients/clients.integration.test.ts',
  'shared/kafka/connection.unit.test.ts',
  'services/projector/log/loop.unit.test.ts',
  'deploy/local/simulator.unit.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification) => {
      const at = LONGEST.indexOf(relative(`${project.config.root}/test`, moduleId));
      return at === -1 ? LONGEST.length : at;
    };
    // A worker that changes projects reloads all modules, so projects stay together. Short files
    // come last and fill the end.
    const group = ({ project }: TestSpecification) => (project.name === 'unit' ? 1 : 0);
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => group(a) - group(b) || place(a) - place(b));
  }
}
