/** Shows the reference: loads Scalar, which reads both documents and draws the page. */
const { version } = document.currentScript.dataset;
// Checks are compiled by `Function` otherwise, which the page's policy forbids.
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });

const COMMON = {
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
};

const script = document.createElement('script');
script.src = `/docs/scalar.js?v=${version}`;
/**
 * The document as people read it: a parameter whose greater values count as its maximum shows that
 * one.
 */
async function readDocument() {
  const text = await (await fetch('/openapi.json')).text();
  return JSON.parse(text, (_name, value) => {
    const most = value?.['x-effective-maximum'];
    return most === undefined ? value : { ...value, maximum: most };
  });
}

const show = async () => {
  const content = await readDocument();
  globalThis.Scalar.createApiReference('#reference', [
    {
      ...COMMON,
      title: 'API',
      slug: 'api',
      content,
      default: true,
      authentication: {
        preferredSecurityScheme: 'accessToken',
        // The token endpoint takes credentials in the header alone.
        securitySchemes: {
          accessToken: {
            flows: { clientCredentials: { 'x-scalar-credentials-location': 'header' } },
          },
        },
      },
    },
    // Without authentication: Scalar would show a login for it.
    { ...COMMON, title: 'Events', slug: 'events', url: '/docs/asyncapi.json' },
  ]);
};
script.addEventListener('load', () => void show());
document.head.append(script);
