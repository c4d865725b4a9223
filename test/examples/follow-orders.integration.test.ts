import { describeProof } from './prove-examples.ts';

describeProof(2_000);
