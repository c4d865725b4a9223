import { describeFollowing } from './following.ts';

describeFollowing(1_000);
