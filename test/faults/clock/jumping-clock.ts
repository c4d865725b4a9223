/**
 * Preloaded into a process (`node --import`). Its wall clock is ahead by the milliseconds in the
 * file CLOCK_FILE, and jumps when the file changes. Timers are not affected, as when the clock of a
 * machine is set.
 */
import { readFileSync } from 'node:fs';

const file = process.env['CLOCK_FILE'] ?? '';
const realNow = Date.now;
let aheadMs = 0;

const look = () => {
  const read = Number(readFileSync(file, 'utf8'));
  if (Number.isFinite(read)) aheadMs = read;
};
look();
setInterval(look, 20).unref();

Date.now = () => realNow() + aheadMs;
globalThis.Date = new Proxy(Date, {
  construct: (target, args: []) =>
    args.length === 0 ? new target(target.now()) : new target(...args),
});
