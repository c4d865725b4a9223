/** Compression of answers, where it is asked for and worth it. */
import compress from '@fastify/compress';
import plugin from 'fastify-plugin';

export default plugin(
  async (app) => {
    await app.register(compress, {
      encodings: ['br', 'gzip', 'identity'],
      // Bodies of more than 1 KiB.
      threshold: 1_025,
      // A compressed request body is no form.
      globalDecompression: false,
    });
  },
  { name: 'compression', dependencies: ['routes-table'] },
);
