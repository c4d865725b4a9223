import { describeProof } from './prove-examples.ts';

describeProof(800);
