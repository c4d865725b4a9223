/** Settings for tests in which answers are to be right; that they come in time is for others, and machines are busy. */
export const PATIENCE: Record<string, string> = {
  MONGODB_READ_TIMEOUT_MS: '20000',
  REDIS_COMMAND_TIMEOUT_MS: '10000',
};
