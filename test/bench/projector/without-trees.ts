/** The projector as it would be without rank trees: only to measure what they cost; such read models answer nothing right. */
import { registerHooks } from 'node:module';

const KEEPS_TREES = /\/ranking\/maintain\.ts$/;

let isLeftOut = false;
registerHooks({
  load(url, context, next) {
    if (!KEEPS_TREES.test(url)) return next(url, context);
    isLeftOut = true;
    return {
      format: 'module',
      source: 'export const maintainTrees = async () => [];',
      shortCircuit: true,
    };
  },
});
const { runProjector } = await import('#projector/run.ts');
if (!isLeftOut) throw new Error('the projector keeps its trees in another file');
await runProjector();
