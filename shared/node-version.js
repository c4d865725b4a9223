/**
 * Says which Node is needed, where it is older, in a sentence: loaded before everything else (`node --import`), and JavaScript, since
 * such a Node cannot even read TypeScript.
 */
const NEEDED = [22, 18];

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) {
  process.stderr.write(
    `Node ${NEEDED.join('.')} or later is needed, and this is ${process.versions.node}: ` +
      'use "npm run", which takes the Node 24 that "npm ci" brings, or install a newer Node\n',
  );
  process.exit(1);
}
