/** Shows the reference: loads Scalar, which reads both documents and draws the page. */
const { version } = document.currentScript.dataset;
// Checks are compiled by `Function` otherwise, which the page's policy forbids.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });

const script = document.createElement('script');
script.src = `/docs/scalar.js?v=${version}`;
script.addEventListener('load', () => {
  globalThis.Scalar.createApiReference('#reference', {
    sources: [
      { title: 'API', slug: 'api', url: '/openapi.json', default: true },
      { title: 'Events', slug: 'events', url: '/docs/asyncapi.json' },
    ],
    authentication: {
      preferredSecurityScheme: 'accessToken',
      // The token endpoint takes credentials in the header alone.
      securitySchemes: {
        accessToken: { flows: { clientCredentials: { 'x-scalar-credentials-location': 'header' } } },
      },
    },
    defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
    documentDownloadType: 'json',
    hideModels: true,
    // Nothing is asked of another host, and nothing is kept in the browser.
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: 'never',
    persistAuth: false,
  });
});
document.head.append(script);
