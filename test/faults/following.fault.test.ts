import { describeProof } from '../examples/prove-examples.ts';

describeProof(40_000);
