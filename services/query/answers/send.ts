/** How refusals leave the house: with a body of two fields, at the token endpoint of four. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GUIDES_PATH } from '../docs/guides.ts';
import { asTokenRefusal, tokenErrorBody } from '../token/refusals.ts';
import { pathOf } from './path.ts';
import type { Refusal } from './refusal.ts';

export const TOKEN_PATH = '/api/auth/token/';

/** Answers a refusal. */
export function sendRefusal(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply {
  const toToken = pathOf(request.raw.url) === TOKEN_PATH;
  const { status, headers, code, detail } = toToken ? asTokenRefusal(refusal) : refusal;
  if (toToken) forbidStoring(reply);
  if (request.server.config.query.docs) reply.header('link', helpLink(code, toToken));
  request.refused = { reason: refusal.reason ?? code, clientId: refusal.clientId ?? null };
  return reply
    .code(status)
    .headers(headers)
    .header('content-type', 'application/json; charset=utf-8')
    .send(errorBody({ status, headers, code, detail }, toToken));
}

/** Where the guide says what to do about a code. */
export function helpLink(code: string, toToken: boolean): string {
  return `<${GUIDES_PATH}/errors#${toToken ? 'token-endpoint' : code}>; rel="help"`;
}

/** The JSON of a refusal. */
export function errorBody(refusal: Refusal, toToken: boolean): string {
  const { code, detail } = refusal;
  return JSON.stringify(toToken ? tokenErrorBody(refusal) : { code, detail });
}

/** Nothing of the token endpoint may stay in a cache (RFC 6749 section 5.1). */
export function forbidStoring(reply: FastifyReply): FastifyReply {
  return reply.header('cache-control', 'no-store').header('pragma', 'no-cache');
}
