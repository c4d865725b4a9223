/** What the options of `bench -- query` may be. */

export interface QueryBenchOptions {
  records: number;
  /** At least one of these measures counts and pages at scale. */
  orders?: number;
  customers?: number;
  connections: number;
  seconds: number;
  rounds: number;
  only?: string;
  json?: true;
  writeDocs?: true;
}
