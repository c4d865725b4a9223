/** The total classifier: which refusal answers an error, whoever threw it. */
import { isUnavailable } from '#shared/errors.ts';
import { environmentUnavailable, internalError, invalidRequest, type Refusal, Refused } from './refusal.ts';

/** The refusal for an error. Nothing of a foreign error's text gets into it. */
export function classify(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal;
  if (isUnavailable(error)) return environmentUnavailable();
  const status = clientErrorStatus(error);
  if (status === null) return internalError();
  return invalidRequest(status === 413 ? 'the body is too large' : 'the request is malformed', status);
}

/** The status with which the framework blames the client, `null` where it doesn't. */
function clientErrorStatus(error: unknown): number | null {
  if (!(error instanceof Error) || !('statusCode' in error)) return null;
  const { statusCode } = error;
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? statusCode : null;
}
