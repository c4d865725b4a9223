import { describeFollowing } from '../examples/following.ts';

describeFollowing(20_000);
