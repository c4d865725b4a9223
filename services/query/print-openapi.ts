/** Prints the OpenAPI document, as `docs/openapi.json` holds it. */
import { DECLARED_ROUTES } from './declared-routes.ts';
import { openApiDocument } from './openapi/document.ts';

process.stdout.write(`${JSON.stringify(openApiDocument(DECLARED_ROUTES), null, 2)}\n`);
