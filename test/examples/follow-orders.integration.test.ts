import { describeFollowing } from './following.ts';

describeFollowing(2_000);
