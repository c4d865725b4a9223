/** The process of thousands of waiting clients, with plain sockets. */
import { connect } from 'node:net';

export interface WaitersOrder {
  host: string;
  port: number;
  /** The repeated request of each client. */
  requests: string[];
}

export interface WaitersReport {
  connected: number;
  answers: number;
  /** Status lines of answers that are not 200. */
  wrong: string[];
}

const AT_ONCE = 100;
const REPORT_MS = 250;

const report: WaitersReport = { connected: 0, answers: 0, wrong: [] };

process.on('message', (order: WaitersOrder) => {
  void begin(order);
  setInterval(() => process.send?.(report), REPORT_MS);
});

async function begin({ host, port, requests }: WaitersOrder): Promise<void> {
  for (let first = 0; first < requests.length; first += AT_ONCE) {
    await Promise.all(
      requests.slice(first, first + AT_ONCE).map((request) => open(host, port, request)),
    );
  }
}

function open(host: string, port: number, request: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host, port }, () => {
      report.connected += 1;
      socket.write(request);
      resolve();
    });
    socket.on('data', (chunk: Buffer) => {
      const text = chunk.toString('latin1');
      if (!text.startsWith('HTTP/1.1 ')) return;
      report.answers += 1;
      if (!text.startsWith('HTTP/1.1 200')) report.wrong.push(text.slice(0, 40));
      socket.write(request);
    });
    socket.on('error', (error) => report.wrong.push(error.message));
    socket.on('close', () => report.wrong.push('closed'));
  });
}
