/** Shows `status.json` of the projector, every two seconds. All text of others is put in as text, never as HTML. */

const EVERY_MS = 2_000;
/** Points of the charts: four minutes. */
const POINTS = 120;
/** How far back freshness looks: a minute. */
const FRESH_LOOKS = 30;

const element = (id) => document.getElementById(id);
const count = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });

const series = { rate: [], backlog: [], fresh: [], dead: [], sessions: [] };
/** Earlier answers. */
let looks = [];

function figure(name, value, text) {
  const points = series[name];
  points.push(value ?? 0);
  if (points.length > POINTS) points.shift();
  element(name).textContent = text;
  const highest = Math.max(...points, 0) || 1;
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'polyline');
  const places = points.map(
    (point, index) => `${POINTS - points.length + index + 1},${29 - (28 * point) / highest}`,
  );
  line.setAttribute('points', places.join(' '));
  element(`${name}-chart`).replaceChildren(line);
}

/** @param columns of each the title, what a row has there, and whether that is a number. */
function table(id, rows, columns, nothing) {
  const make = (tag, [title, , isNumber], text, alarms) => {
    const cell = document.createElement(tag);
    cell.textContent = text ?? title;
    if (isNumber) cell.classList.add('number');
    if (alarms) cell.classList.add('alarm');
    return cell;
  };
  const head = document.createElement('tr');
  head.append(...columns.map((column) => make('th', column)));
  const body = rows.map((row) => {
    const line = document.createElement('tr');
    line.append(...columns.map((column) => make('td', column, String(column[1](row)), column[3]?.(row))));
    return line;
  });
  if (rows.length === 0) {
    const line = document.createElement('tr');
    const cell = make('td', [], nothing);
    cell.colSpan = columns.length;
    line.append(cell);
    body.push(line);
  }
  element(id).replaceChildren(head, ...body);
}

function duration(seconds) {
  if (seconds === null) return '–';
  if (seconds < 1) return `${Math.round(seconds * 1_000)} ms`;
  return seconds < 120 ? `${tenths.format(seconds)} s` : `${count.format(seconds / 60)} min`;
}

/** What 99 of 100 events took at most that came since an earlier answer; within a bucket they are taken as spread evenly. */
function p99(now, before) {
  const counts = new Map();
  const add = (status, sign) => {
    for (const { buckets } of status?.freshness ?? []) {
      for (const { seconds, events } of buckets) {
        const bound = seconds ?? Infinity;
        counts.set(bound, (counts.get(bound) ?? 0) + sign * events);
      }
    }
  };
  add(now, 1);
  add(before, -1);
  const wanted = 0.99 * (counts.get(Infinity) ?? 0);
  if (!(wanted > 0)) return null;
  let [lower, below] = [0, 0];
  for (const [bound, events] of [...counts].toSorted(([a], [b]) => a - b)) {
    if (events >= wanted) {
      return bound === Infinity ? lower : lower + ((bound - lower) * (wanted - below)) / (events - below);
    }
    [lower, below] = [bound, events];
  }
  return lower;
}

const sum = (values) => values.reduce((total, value) => total + value, 0);

function show(status) {
  const last = looks.at(-1);
  // A process that was started again counts from zero.
  if (last !== undefined && status.applied < last.applied) looks = [];
  looks = [...looks.slice(-FRESH_LOOKS), status];
  const seconds = last === undefined ? 0 : (Date.parse(status.at) - Date.parse(last.at)) / 1_000;
  const rate = seconds > 0 ? Math.max(0, status.applied - last.applied) / seconds : 0;
  const backlog = sum(status.partitions.map(({ lag }) => lag));
  const freshness = p99(status, looks.length > 1 ? looks[0] : undefined);
  const dead = status.dead_letters === null ? null : sum(status.dead_letters.map(({ messages }) => messages));
  figure('rate', rate, rate < 10 ? tenths.format(rate) : count.format(rate));
  figure('backlog', backlog, count.format(backlog));
  figure('fresh', freshness, duration(freshness));
  figure('dead', dead, dead === null ? 'unknown' : count.format(dead));
  figure(
    'sessions',
    status.use?.sessions,
    status.use === null ? 'unknown' : count.format(status.use.sessions),
  );

  const { version, projectionVersion, node } = status.release;
  element('release').textContent = `release ${version}, projection ${projectionVersion}, Node ${node}`;
  const away = [
    status.away.length > 0 && `MongoDB does not answer for ${status.away.join(', ')}`,
    status.use === null && 'stores in use are not known: MongoDB or Redis does not answer',
  ];
  element('trouble').textContent = away.filter(Boolean).join(' · ');

  table(
    'generations',
    status.generations ?? [],
    [
      ['environment', (row) => row.environment],
      ['generation', (row) => row.generation],
      ['state', (row) => (row.share === null ? row.state : `${row.state}, ${row.share} % of the time`)],
      ['projection', (row) => row.projection_version ?? 'none', true],
    ],
    'none is known',
  );
  table(
    'partitions',
    status.partitions.toSorted((a, b) =>
      a.topic < b.topic ? -1 : a.topic > b.topic ? 1 : a.partition - b.partition,
    ),
    [
      ['topic', (row) => row.topic],
      ['partition', (row) => row.partition, true],
      ['generation', (row) => row.generation],
      ['lag', (row) => count.format(row.lag), true],
      [
        'nothing applied for',
        (row) => (row.still_for_seconds === 0 ? '–' : duration(row.still_for_seconds)),
        true,
        (row) => row.still_for_seconds > 60,
      ],
      [
        'state',
        (row) => (row.stopped ? 'stopped' : row.failing > 0 ? `failing, ${row.failing} times` : 'well'),
        false,
        (row) => row.stopped || row.failing > 0,
      ],
    ],
    'none: other projectors have them',
  );
  table(
    'letters',
    status.dead_letters ?? [],
    [
      ['environment', (row) => row.environment],
      ['generation', (row) => row.generation],
      ['reason', (row) => row.reason],
      ['messages', (row) => count.format(row.messages), true],
    ],
    status.dead_letters === null ? 'not known' : 'none',
  );
  element('stores-note').textContent =
    status.use?.complete === false
      ? 'There are more keys in Redis than this page looks at: numbers are lower bounds.'
      : '';
  table(
    'stores',
    status.use?.stores ?? [],
    [
      ['store', (row) => row.store_id],
      ['environment', (row) => row.environment],
      ['requests in this window', (row) => count.format(row.requests), true],
      ['quota', (row) => (row.quota === null ? 'as configured' : count.format(row.quota)), true],
      ['sessions', (row) => count.format(row.sessions), true],
    ],
    'none',
  );
}

async function look() {
  try {
    const response = await fetch('status.json', { cache: 'no-store' });
    const answer = await response.json();
    if (response.ok) show(answer);
    else element('trouble').textContent = answer.detail;
  } catch {
    element('trouble').textContent = 'the projector does not answer';
  }
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const shown = () =>
  new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));

for (;;) {
  await look();
  // Nobody looks at a tab in the background.
  if (document.hidden) await shown();
  await pause(EVERY_MS);
}
