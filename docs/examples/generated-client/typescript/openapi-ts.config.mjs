/** @type {import('@hey-api/openapi-ts').UserConfig} */
export default {
  input: process.env.DOCUMENT ?? '../../../openapi.json',
  // Node runs the client as it is.
  output: { path: 'client', module: { extension: '.ts' } },
};
