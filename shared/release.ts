import project from '../package.json' with { type: 'json' };
import { PROJECTION_VERSION } from './read-models/generation.ts';

export const RELEASE = {
  version: project.version,
  /** Of the documents that the projector writes: another one needs a rebuild. */
  projectionVersion: PROJECTION_VERSION,
  node: process.versions.node,
};
