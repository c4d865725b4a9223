/** Authentication of the client at the token endpoint, and whether its key may get tokens. */
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreDataError } from '#shared/errors.ts';
import { Refused } from '../answers/refusal.ts';
import type { Bounded } from '../deadline.ts';
import { basicCredentials, type Credentials } from './basic.ts';
import { type Client, type Decision, decide, FAILURES, type WantedSession } from './decision.ts';
import type { Attempt, FailedAuthentications } from './failed-authentications.ts';
import { invalidClient, unauthorizedClient } from './refusals.ts';
import { type KeySources, reloadKey } from './reload.ts';

/** Who asks for a token: what it says it is, and how often it was wrong. */
export interface Applicant {
  attempt: Attempt;
  /** The credentials in every way they can be read: as they were sent first. */
  readings: readonly Credentials[];
}

/**
 * Reads who asks for a token.
 * @throws {Refused} 401 `invalid_client` where nobody says so; 429 `slow_down` where they are known to be refused.
 */
export function readApplicant(
  failures: FailedAuthentications,
  authorization: string | undefined,
  address: string | undefined,
): Applicant {
  const credentials = basicCredentials(authorization);
  // Nothing was tried.
  if (credentials === null) throw new Refused({ ...invalidClient(), reason: 'credentials_missing' });
  const { asSent, decoded } = credentials;
  // By the decoded name, since one `client_id` has many encoded spellings.
  const attempt = failures.attempt(decoded.clientId, address);
  attempt.requireUnrefused();
  return { attempt, readings: isSame(asSent, decoded) ? [asSent] : [asSent, decoded] };
}

function isSame(one: Credentials, other: Credentials): boolean {
  return one.clientId === other.clientId && one.clientSecret === other.clientSecret;
}

export interface ClientSources extends KeySources {
  requirePrimary: () => Promise<void>;
}

/** A client whose secret is right: it may get tokens, or why it may not. */
export interface Authenticated {
  clientId: string;
  decision: Exclude<Decision, { outcome: Failure | 'out_of_date' }>;
}

type Failure = (typeof FAILURES)[number];

/** No failed authentication is told earlier than this: what its work took is over by then, and shows nothing. */
const FAILURE_MS = 10;

/**
 * Makes the step that finds out whether a client is who it says. Redis decides. A failure stands only if MongoDB says the same,
 * so that nobody is refused for what Redis lost or does not have yet. Whatever is wrong, the work and the time are the same.
 * The step stores the session that is asked for where the key allows that. @throws {Refused} 401 `invalid_client`; 429 `slow_down` after too many failures.
 */
export function authenticateClient(sources: ClientSources) {
  return async (
    applicant: Applicant,
    session: WantedSession | null,
    bounded: Bounded,
  ): Promise<Authenticated> => {
    const began = performance.now();
    let answers = await ask(sources, applicant, session);
    if (findDecided(answers) === undefined) {
      const reloaded = await Promise.all(
        answers.map(({ credentials, decision }) => reloadKey(sources, credentials, decision, bounded)),
      );
      if (reloaded.includes(true)) answers = await ask(sources, applicant, session);
    }
    const decided = findDecided(answers);
    if (decided !== undefined) return decided;
    if (answers.some(({ decision }) => decision.outcome === 'out_of_date')) {
      throw new StoreDataError('environment_unavailable', 'Redis has not all of a key, nor has MongoDB');
    }
    const failed = await applicant.attempt.failed();
    await sleep(Math.max(0, FAILURE_MS - (performance.now() - began)));
    throw new Refused({ ...failed, ...whyRefused(answers) });
  };
}

interface Answer {
  credentials: Credentials;
  decision: Decision;
}

/**
 * Asks Redis about every reading, and how often the client failed: that counts before what is decided, so that beyond the
 * limit nobody learns whether the secret would have been right.
 */
async function ask(
  sources: ClientSources,
  { attempt, readings }: Applicant,
  session: WantedSession | null,
): Promise<Answer[]> {
  const [answers] = await Promise.all([
    Promise.all(
      readings.map(async (credentials) => ({
        credentials,
        decision: await decide(sources, credentials, session),
      })),
    ),
    attempt.requireWithin(),
    sources.requirePrimary(),
  ]);
  return answers;
}

/** The reading by which somebody is who they say. */
function findDecided(answers: readonly Answer[]): Authenticated | undefined {
  for (const { credentials, decision } of answers) {
    if (isFailure(decision) || decision.outcome === 'out_of_date') continue;
    return { clientId: credentials.clientId, decision };
  }
  return undefined;
}

function isFailure(decision: Decision): decision is { outcome: Failure } {
  return FAILURES.some((failure) => failure === decision.outcome);
}

/** For operators only. A `client_id` that is none of ours is not told even them: it may be a secret in the wrong place. */
function whyRefused(answers: readonly Answer[]): { reason?: Failure; clientId?: string } {
  for (const failure of FAILURES) {
    const found = answers.find(({ decision }) => decision.outcome === failure);
    if (found === undefined) continue;
    const { clientId } = found.credentials;
    return { reason: failure, ...(failure === 'client_unknown' ? {} : { clientId }) };
  }
  return {};
}

/** @throws {Refused} 400 `unauthorized_client` when the key is inactive or its store blocked. */
export function requireActive({ clientId, decision }: Authenticated): Client {
  if (decision.outcome === 'allowed') return decision.client;
  throw new Refused({ ...unauthorizedClient(), reason: decision.outcome, clientId });
}
