/** What Node is told when it runs the projector in production (`npm run start:projector`). */
export const PROJECTOR_FLAGS = ['--max-semi-space-size=8'] as const;
