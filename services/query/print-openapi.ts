/** Prints the OpenAPI document, as `docs/openapi.json` holds it. */
import { openApiDocument } from './openapi/document.ts';
import { ROUTES } from './routes/index.ts';

process.stdout.write(`${JSON.stringify(openApiDocument(ROUTES), null, 2)}\n`);
