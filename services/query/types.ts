/** What the app's plugins add to the framework's objects. */
import type { ControlCollections } from '#shared/access/access-keys.ts';
import type { Tokens } from './token/access-tokens.ts';
import type { SigningKeys } from './token/signing-keys.ts';
import type { Config } from '#shared/config.ts';
import type { Logger } from '#shared/logging.ts';
import type { Scope } from '#shared/events/access-event.ts';
import type { RedisMasters } from '#shared/redis-masters.ts';
import type { Databases } from '#shared/read-models/databases.ts';
import type { Generation } from '#shared/read-models/generation.ts';
import type { Span } from '#shared/tracing.ts';
import type { RedisGates } from './access/redis-gates.ts';
import type { Caller, LookAgain, Step } from './access/steps.ts';
import type { Bounded } from './deadline.ts';
import type { LiveGenerations } from './generations.ts';
import type { Watch } from './feed/watch.ts';
import type { QueryMetrics } from './metrics.ts';
import type { Admission } from './overload/admission.ts';
import type { OperationObject } from './openapi/objects.ts';
import type { Parameters } from './parameters/parameter.ts';
import type { SharedReads } from './reading/shared-reads.ts';
import type { Authenticated } from './token/client.ts';
import type { WantedSession } from './token/decision.ts';

/** Who may use a route: everybody, or tokens with all of some scopes. */
export type RouteAccess = 'open' | { scopes: readonly [Scope, ...Scope[]]; parameters: Parameters };

/** One route of the app, as the table of routes holds it. */
export interface RouteEntry {
  method: string;
  path: string;
  access: RouteAccess;
  /** What the OpenAPI document says of it; `null` for pages, about which it says nothing. */
  operation: OperationObject | null;
}

declare module 'fastify' {
  interface FastifyInstance {
    config: Config;
    logger: Logger;
    signingKeys: SigningKeys;
    metrics: QueryMetrics;
    /** Which requests are in flight. A route that holds its answer waits by it. */
    admission: Admission;
    databases: Databases;
    control: ControlCollections;
    /** Bounds each read from MongoDB by itself: of an environment's generations, or for `null` of what is common to all. */
    boundedIn: (environment: string | null) => Bounded;
    /** The same for one request: all of them together, from its arrival. */
    deadlineOf: (reply: FastifyReply, environment: string | null) => Bounded;
    redis: RedisMasters;
    /** Nobody uses Redis without having passed one. */
    redisGates: RedisGates;
    /** Only generations made with it can be read. */
    projectionVersion: number;
    generations: LiveGenerations;
    /** What belongs to a generation: the reads that requests share, and who waits for its changes. */
    sharedOf: (generation: Generation) => { reads: SharedReads; watch: Watch };
    tokens: Tokens;
    /** The step of the token endpoint that finds out who asks. */
    authenticateClient: (
      request: FastifyRequest,
      session: WantedSession | null,
      deadline: Bounded,
    ) => Promise<Authenticated>;
    /** The step that finds out who calls. */
    authenticate: Step;
    /** Looks again at the caller of a request that was held; it is not counted again. */
    authenticateAgain: LookAgain;
    /** Whether the service stops: nobody shall wait any longer. */
    isClosing: () => boolean;
    /** Ends each connection with its next answer from now on, so that none is left when the service stops. */
    endConnections: () => void;
    /** Whether requests can be served now. */
    isHealthy: () => Promise<boolean>;
    /** Every route, for answers about methods and for tests. */
    routeTable: RouteEntry[];
  }
  interface FastifyRequest {
    /** `null` until the token passed. */
    caller: Caller | null;
    /** Who was given a token, once they are. */
    clientId: string | null;
    /** Why the answer is a refusal, and of which key. */
    refused: { reason: string; clientId: string | null } | null;
    /** For how long the answer was held, waiting for changes. */
    heldMilliseconds: number;
    /** Where it is traced. */
    span: Span | null;
    /** The parameters' values, once read. */
    values: Record<string, unknown> | null;
  }
  interface FastifyContextConfig {
    access?: RouteAccess;
    operation?: OperationObject | null;
  }
}
