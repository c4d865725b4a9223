/** What Node is told when it runs the projector in production (`npm run start:projector`). */
export const PROJECTOR_FLAGS = ['--max-semi-space-size=32', '--max-old-space-size=320'] as const;
