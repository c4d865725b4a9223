/** Prints the OpenAPI document, as `docs/openapi.json` holds it. */
import { declaredRoutes } from './declared-routes.ts';
import { openApiDocument } from './openapi/document.ts';

process.stdout.write(`${JSON.stringify(openApiDocument(await declaredRoutes()), null, 2)}\n`);
