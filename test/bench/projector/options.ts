/** What `npm run bench -- projector` is told. */
export interface ProjectorBenchOptions {
  orders: number;
  rounds: number;
  backlog?: number;
  only?: string[];
  json?: true;
  writeDocs?: true;
}
