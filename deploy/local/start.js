/**
 * `npm start`: the whole system on this machine, with stores at work. JavaScript, so that an old
 * Node can say that it is too old.
 */
import '../../shared/node-version.js';

await import('./start/main.ts');
