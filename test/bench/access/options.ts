/** What `npm run bench -- access` is told. */
export interface AccessBenchOptions {
  connections: number;
  seconds: number;
  rounds: number;
  tokensOnly?: true;
  json?: true;
  writeDocs?: true;
}
