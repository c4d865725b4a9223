/**
 * Connections to Kafka that notice when nobody answers any longer. A link may forget a connection without a word, and kafkajs
 * goes on asking on it: a request that times out does not end its connection.
 */
import { connect } from 'node:net';
import type { ISocketFactory } from 'kafkajs';

const LOOK_MS = 1_000;

/**
 * Makes connections that end when something was asked and nothing came back for a time.
 * @param answerMs the longest that a broker may take for an answer.
 */
export function kafkaSockets(answerMs: number): ISocketFactory {
  return ({ host, port, onConnect }) => {
    const socket = connect({ host, port }, onConnect);
    socket.setKeepAlive(true, 60_000);
    /** How much had been asked when the last answer came. */
    let answered = 0;
    let askedAt: number | null = null;
    socket.on('data', () => {
      answered = socket.bytesWritten;
      askedAt = null;
    });
    const timer = setInterval(() => {
      if (socket.bytesWritten > answered) askedAt ??= performance.now();
      if (askedAt !== null && performance.now() - askedAt > answerMs) {
        socket.destroy(new Error(`no answer from ${host}:${port} for ${answerMs} ms`));
      }
    }, LOOK_MS);
    timer.unref();
    socket.once('close', () => clearInterval(timer));
    return socket;
  };
}
