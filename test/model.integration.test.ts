import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { readConfig } from '#shared/config.ts';
import { createLogger } from '#shared/logging.ts';
import { type Compared, compareAnswers, publishKeys, takeTokens } from '#test/comparison.ts';
import { createInstallation, type Installation } from '#test/installation.ts';
import { Model } from '#test/model.ts';
import { startApp } from '#test/query-service.ts';
import { type Question, question } from '#test/questions.ts';
import { caughtUp } from '#test/read-models.ts';
import { withSmallErasures } from '#test/small-erasures.ts';
import { withSmallTrees } from '#test/small-trees.ts';
import { stream, type StreamEvent } from '#test/streams.ts';
import { startProjector } from '#projector/projector.ts';

const logger = createLogger('test', 'silent');
/** Each run has an environment of its own; within it many questions are asked. */
const RUNS = 3;
const QUESTIONS = 250;

describe('every answer', () => {
  let installation: Installation;
  let restoreSizes: () => void;
  beforeAll(async () => {
    const restore = [withSmallTrees(3, 3), withSmallErasures()];
    restoreSizes = () => restore.forEach((each) => each());
    installation = await createInstallation({
      environments: RUNS,
      settings: {
        // Erasures rest long after each piece, so that they are still under way when questions are asked.
        PROJECTOR_REWRITING_SHARE: '1',
      },
    });
  });
  afterAll(async () => {
    restoreSizes();
    await installation?.close();
  });

  // Another attempt would have another seed, and pass where an answer is wrong.
  it('is what a plain model of the contract answers, for random streams and questions', { retry: 0 }, async () => {
    let run = 0;
    let found = 0;
    const outcome = await fc.check(
      fc.asyncProperty(
        stream,
        fc.array(question, { minLength: QUESTIONS, maxLength: QUESTIONS }),
        async (events, questions) => {
          const environment = installation.config.environments[run];
          run += 1;
          if (environment === undefined) return;
          // Of some streams all is one slice, of others what is erased was stored before.
          const slice = run % 2 === 0 ? '1500' : '20';
          found += (await compare(environment, slice, events, questions)).found;
        },
      ),
      { numRuns: RUNS, endOnFailure: true },
    );
    if (outcome.failed) {
      const { seed, counterexamplePath, errorInstance } = outcome;
      throw new Error(`differs with seed ${seed}, path ${counterexamplePath}`, { cause: errorInstance });
    }
    // Questions that find nothing compare nothing.
    expect(found).toBeGreaterThan((RUNS * QUESTIONS) / 3);
  });

  async function compare(
    environment: string,
    slice: string,
    events: StreamEvent[],
    questions: Question[],
  ): Promise<Compared> {
    const settings = { ENVIRONMENTS: environment, PROJECTOR_SLICE_EVENTS: slice };
    const config = readConfig({ ...installation.env, ...settings });
    const model = new Model();
    for (const event of events) model.apply(event);
    await publishKeys(installation, environment);
    await installation.publish(events, environment);
    const projector = await startProjector(config, logger);
    const { app, api } = await startApp(config);
    try {
      await caughtUp(installation, environment);
      const tokens = await takeTokens(api, environment);
      return await compareAnswers(model, api, tokens, questions);
    } finally {
      await app.close();
      await projector.stop();
    }
  }
});
