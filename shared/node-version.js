/**
 * Says which Node is needed, if it is older, in a sentence: loaded before everything else (`node
 * --import`), and JavaScript, since such a Node cannot even read TypeScript.
 */
// Before 24.16 Node keeps pipelined requests of a closed connection.
const NEEDED = '24.16';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 24 || (major === 24 && minor < 16)) {
  process.stderr.write(
    `Node ${NEEDED} or later is needed, and this is ${process.versions.node}: ` +
      'install a newer one, or in the repository use "npm run", which takes the Node 24 that "npm ci" brings\n',
  );
  process.exit(1);
}
