/**
 * What all pages have: the mark of the current part, a search of the guides, and buttons that copy
 * code.
 */
const header = document.querySelector('header.site');

/**
 * The reference shows the API or the events without loading another page: its address says which.
 */
function markCurrent() {
  if (!document.body.classList.contains('reference')) return;
  const isEvents =
    new URLSearchParams(location.search).get('api') === 'events' ||
    location.hash.startsWith('#events');
  // Without it Scalar shows a login for them.
  document.body.classList.toggle('events', isEvents);
  const current = isEvents ? '/docs?api=events' : '/docs';
  for (const link of header.querySelectorAll('nav a')) {
    link.setAttribute('aria-current', String(link.getAttribute('href') === current));
  }
}
markCurrent();
globalThis.navigation?.addEventListener('currententrychange', markCurrent);

const MAX_FOUND = 8;
const input = header.querySelector('input');
const results = header.querySelector('ul');
let sections = null;

const fold = (text) => text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase();

async function search() {
  sections ??= fetch('/docs/search.json').then((answer) => answer.json());
  const words = fold(input.value).split(/\s+/).filter(Boolean);
  const found = (await sections).filter(({ title, text }) => {
    const searched = fold(`${title} ${text}`);
    return words.length > 0 && words.every((word) => searched.includes(word));
  });
  // What has the words in its title comes first.
  const inTitle = ({ title }) => words.every((word) => fold(title).includes(word));
  found.sort((a, b) => inTitle(b) - inTitle(a));
  results.replaceChildren(
    ...found.slice(0, MAX_FOUND).map(({ title, address }) => {
      const link = Object.assign(document.createElement('a'), {
        href: address,
        textContent: title,
      });
      const item = document.createElement('li');
      item.append(link);
      return item;
    }),
  );
  results.hidden = found.length === 0;
}
input.addEventListener('input', () => void search());
input.addEventListener('keydown', ({ key }) => {
  if (key === 'Enter') results.querySelector('a')?.click();
});
// A link of this page loads nothing.
results.addEventListener('click', () => {
  results.hidden = true;
});

const COPIED_MS = 1_500;
for (const block of document.querySelectorAll('.guide pre')) {
  const button = Object.assign(document.createElement('button'), {
    type: 'button',
    textContent: 'Copy',
  });
  const copy = async () => {
    await navigator.clipboard.writeText(block.querySelector('code').textContent);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, COPIED_MS);
  };
  button.addEventListener('click', () => void copy());
  block.append(button);
}
