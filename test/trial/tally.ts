/** What was done and compared: `found` answers held records, `copies` are of change feeds. */
export const NOTHING = {
  answers: 0,
  found: 0,
  rounds: 0,
  events: 0,
  poison: 0,
  kills: 0,
  killsInTransactions: 0,
  freezes: 0,
  stepDowns: 0,
  overloads: 0,
  rebuilds: 0,
  rollbacks: 0,
  topicsGrown: 0,
  copies: 0,
  transactions: 0,
  aborted: 0,
};
export type Tally = typeof NOTHING;
