/**
 * Says which Node is needed, where it is older, in a sentence: loaded before everything else (`node --import`), and JavaScript, since
 * such a Node cannot even read TypeScript.
 */
const NEEDED = 24;

if (Number(process.versions.node.split('.')[0]) < NEEDED) {
  process.stderr.write(
    `Node ${NEEDED} or later is needed, and this is ${process.versions.node}: ` +
      'install a newer one, or in the repository use "npm run", which takes the Node 24 that "npm ci" brings\n',
  );
  process.exit(1);
}
