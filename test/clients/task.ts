/** What every client is to do: get a token with each of some keys, and read a list with it. */
import { newClientId, newClientSecret } from '#shared/access/secrets.ts';

export interface ClientKey {
  client_id: string;
  client_secret: string;
}

/** As the programs read it, in JSON. */
export interface Task {
  token_url: string;
  data_url: string;
  keys: readonly ClientKey[];
}

/** As the programs print it, in JSON: what the list answered. */
export interface Result {
  client_id: string;
  status: number;
  /** How many orders there are. */
  count: number;
}

/** An imported key: of all that a `client_id` may hold, what clients encode in different ways. */
export const IMPORTED: ClientKey = { client_id: 'loja-1_a.b~c+d%e f', client_secret: 'p-_.~+%: q/r=&?' };

/** One key as we make them, and imported ones, of which one looks as if it were encoded already. */
export const KEYS: readonly ClientKey[] = [
  { client_id: newClientId(), client_secret: newClientSecret() },
  IMPORTED,
  { client_id: 'loja%2D2+x', client_secret: 'a%2Bb+%20c%3A:%zz' },
];
