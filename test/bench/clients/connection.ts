/**
 * A keep-alive connection that sends one request at a time, and parses only the end of the answer.
 */
import { connect, type Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const NOTHING = Buffer.alloc(0);

export class Connection {
  readonly #socket: Socket;
  #answered: ((status: number) => void) | null = null;
  #read: Buffer = NOTHING;
  #status = 0;
  /** Missing bytes of the body; `null` while it reads the head. */
  #left: number | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    socket.on('error', () => this.#end(0));
    socket.on('close', () => this.#end(0));
  }

  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1');
      socket.once('error', reject);
      socket.once('connect', () => resolve(new Connection(socket)));
    });
  }

  /** Resolves with the status; 0 if the connection broke. */
  ask(request: string): Promise<number> {
    return new Promise((resolve) => {
      this.#answered = resolve;
      this.#socket.write(request, 'latin1');
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    let rest = chunk;
    if (this.#left === null) {
      rest = this.#read.length === 0 ? chunk : Buffer.concat([this.#read, chunk]);
      const end = rest.indexOf(HEAD_END);
      if (end === -1) {
        this.#read = rest;
        return;
      }
      const head = rest.toString('latin1', 0, end);
      this.#status = Number(head.slice(9, 12));
      this.#left = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
      this.#read = NOTHING;
      rest = rest.subarray(end + HEAD_END.length);
    }
    this.#left -= rest.length;
    if (this.#left > 0) return;
    this.#left = null;
    this.#end(this.#status);
  }

  #end(status: number): void {
    const answered = this.#answered;
    this.#answered = null;
    answered?.(status);
  }
}
