/** Runs the files first that take longest, so that in the end no worker is left with one of them while the others have nothing to do. */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Below `test/`. A clean clone knows no durations; what ran before is sorted by them. Those that start JVMs, compilers and
 * installers stand between those that mostly wait.
 */
export const LONGEST = [
  'deploy/local/start/start.integration.test.ts',
  'services/query/imported-redis.integration.test.ts',
  'services/query/main.integration.test.ts',
  'examples/generated-client.integration.test.ts',
  'services/query/waiting.integration.test.ts',
  'shared/projection/verify/damages.integration.test.ts',
  'deploy/local/stack/main.integration.test.ts',
  'services/projector/restored.integration.test.ts',
  'examples/follow-orders.integration.test.ts',
  'shared/projection/erasure/killed.integration.test.ts',
  'services/query/overload.integration.test.ts',
  'services/projector/crash.integration.test.ts',
  'clients/clients.integration.test.ts',
  'simulation/simulation.integration.test.ts',
  'package/package.integration.test.ts',
  'followers.integration.test.ts',
  'secure-servers/kafka.integration.test.ts',
  'deploy/local/stack/stack.integration.test.ts',
  'services/query/rolling-restart.integration.test.ts',
  'examples/produce-events.integration.test.ts',
  'services/projector/recreated.integration.test.ts',
  'model.integration.test.ts',
  'services/admin/signing-keys.integration.test.ts',
  'services/projector/rebuild-crash.integration.test.ts',
  'services/admin/access.integration.test.ts',
  'trial/trial.integration.test.ts',
  'shared/kafka/socket.unit.test.ts',
  'services/projector/log/loop.unit.test.ts',
  'services/query/access/access-tokens.unit.test.ts',
  'deploy/local/simulator.unit.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification) => {
      const at = LONGEST.indexOf(relative(`${project.config.root}/test`, moduleId));
      return at === -1 ? LONGEST.length : at;
    };
    // A worker that goes from one project to another loads everything anew; what is short comes last, and fills the end.
    const group = ({ project }: TestSpecification) => (project.name === 'unit' ? 1 : 0);
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => group(a) - group(b) || place(a) - place(b));
  }
}
