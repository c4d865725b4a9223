/** The task of every client: get a token with each key, and read a list with it. */
import { newClientId, newClientSecret } from '#shared/access/secrets.ts';

export interface ClientKey {
  client_id: string;
  client_secret: string;
}

/** The programs read it as JSON. */
export interface Task {
  token_url: string;
  data_url: string;
  keys: readonly ClientKey[];
}

/** The answer to the list request. The programs print it as JSON. */
export interface Result {
  client_id: string;
  status: number;
  /** The number of orders. */
  count: number;
}

/** An imported key with all allowed characters that clients encode differently. */
export const IMPORTED: ClientKey = {
  client_id: 'loja-1_a.b~c+d%e f',
  client_secret: 'p-_.~+%: q/r=&?',
};

/** A generated key and imported ones; one of them looks as if it were already encoded. */
export const KEYS: readonly ClientKey[] = [
  { client_id: newClientId(), client_secret: newClientSecret() },
  IMPORTED,
  { client_id: 'loja%2D2+x', client_secret: 'a%2Bb+%20c%3A:%zz' },
];
