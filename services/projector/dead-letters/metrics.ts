/** What is counted of dead letters beside their arrival; every projector process shows the same of one letter box. */
import { Counter, Gauge, type Registry } from 'prom-client';

export interface LetterMetrics {
  open: Gauge<'environment' | 'topic' | 'database'>;
  bytes: Gauge<'environment' | 'topic' | 'database'>;
  /** The part of its room that a box has used up, from 0 to 1. */
  used: Gauge<'environment' | 'topic' | 'database'>;
  oldestSeconds: Gauge<'environment' | 'topic' | 'database'>;
  expired: Counter<'environment' | 'topic' | 'reason'>;
}

/** Makes these metrics in a process's registry. */
export function createLetterMetrics(registry: Registry): LetterMetrics {
  const registers = [registry];
  const labelNames = ['environment', 'topic', 'database'] as const;
  return {
    open: new Gauge({
      name: 'store_data_dead_letters_open',
      help: 'Dead letters that wait for somebody to decide',
      labelNames,
      registers,
    }),
    bytes: new Gauge({
      name: 'store_data_dead_letters_bytes',
      help: 'Bytes of messages that dead letters keep',
      labelNames,
      registers,
    }),
    used: new Gauge({
      name: 'store_data_dead_letters_used_ratio',
      help: 'The part of their room that dead letters have used up, in number or bytes; at 1 messages are no longer kept',
      labelNames,
      registers,
    }),
    oldestSeconds: new Gauge({
      name: 'store_data_dead_letters_oldest_seconds',
      help: 'For how long the oldest dead letter has been waiting',
      labelNames,
      registers,
    }),
    expired: new Counter({
      name: 'store_data_dead_letters_expired_total',
      help: 'Dead letters that expired without anybody deciding',
      labelNames: ['environment', 'topic', 'reason'],
      registers,
    }),
  };
}
