// A command in a container (exec) or its main process (attach) as Node streams, over v5.channel.k8s.io or v4.
import { Readable, Writable } from 'node:stream';
import type { CallOptions, Clock } from '@kapstan/api';
import { TransportError } from '../transport/transport-error.ts';
import type { OpenWebSocket } from '../transport/web-socket-handshake.ts';
import { ChannelSocket } from './channel-socket.ts';
import { type CommandEnd, ExitStatus } from './exit-status.ts';

/** `timeoutMs` limits the time until the server accepts; `signal` also ends the running command. */
export interface AttachOptions extends CallOptions {
  /**
   * Default: the container in the annotation kubectl.kubernetes.io/default-container, or else the first or only one.
   */
  readonly container?: string;
  /** True = sends the data written to `stdin`. Default false. */
  readonly stdin?: boolean;
  /** Default true. */
  readonly stdout?: boolean;
  /** Default true; false with a terminal. */
  readonly stderr?: boolean;
  /** Allocates a terminal: one output stream, `resize()`. Cannot be combined with `stderr`. Default false. */
  readonly tty?: boolean;
}

export interface ExecOptions extends AttachOptions {
  /** Program and arguments; no shell is involved. */
  readonly command: readonly string[];
}

/** Size of a terminal, in characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** Protocols in order of preference. v4 is spoken by kubelets older than 1.30 through older API servers. */
export const remoteCommandProtocols: readonly string[] = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

interface RemoteCommandInit {
  readonly opened: OpenWebSocket;
  readonly clock: Clock;
  readonly options: AttachOptions;
}

/**
 * A running command. Output that nobody reads blocks the command once a few buffers are full, as in a pipe: read both streams, or request
 * only one. Streams that were not requested have ended from the start. A broken connection destroys the streams with the error that
 * `exited` rejects with; without a listener that is harmless.
 *
 * @example
 * ```ts
 * import { text } from 'node:stream/consumers';
 * import { connect } from '@kapstan/client';
 *
 * const client = await connect();
 * const command = await client.exec({ name: 'web', namespace: 'default' }, { command: ['cat', '/etc/hostname'], stderr: false });
 * const [output, exitCode] = await Promise.all([text(command.stdout), command.exited]);
 * console.log(exitCode, output);
 * ```
 */
export class RemoteCommand {
  /** Backpressure reaches the container. With v5 `end()` is the container's end of file; with v4 it fails with code ENOTSUP. */
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /**
   * The exit code sent by the server; for attach it is 0. Rejects with `StatusError` when the command could not run, with `TransportError`
   * when the connection ended first, and with the signal's reason.
   */
  readonly exited: Promise<number>;
  readonly #channel: ChannelSocket;
  readonly #status: ExitStatus = new ExitStatus();
  /** Streams that accept no more data. */
  readonly #closed: Set<Readable> = new Set();
  readonly #request: string;
  readonly #isTty: boolean;
  #resolve!: (exitCode: number) => void;
  #reject!: (error: unknown) => void;

  constructor({ opened, clock, options }: RemoteCommandInit) {
    this.#request = opened.request;
    this.#isTty = options.tty === true;
    this.exited = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // The streams report the same error, so a caller that does not wait for `exited` must not crash because of it.
    this.exited.catch(() => undefined);
    this.#channel = new ChannelSocket({
      opened,
      clock,
      signal: options.signal,
      onMessage: (channel, payload) => this.#receive(channel, payload),
      onEnd: (error) => this.#end(error),
    });
    const asked = askedStreams(options);
    this.stdin = asked.stdin ? this.#input() : endedWritable();
    this.stdout = asked.stdout ? this.#output(channels.stdout) : endedReadable();
    this.stderr = asked.stderr ? this.#output(channels.stderr) : endedReadable();
    if (!asked.stdout) this.#closed.add(this.stdout);
    if (!asked.stderr) this.#closed.add(this.stderr);
    this.#channel.start();
  }

  /** The subprotocol in use. */
  get protocol(): string {
    return this.#channel.protocol;
  }

  /** Sends the terminal its size, in characters. Throws TypeError without a terminal or for an invalid size. */
  resize({ width, height }: TerminalSize): void {
    if (!this.#isTty) throw new TypeError('resize() requires tty: true');
    for (const value of [width, height])
      if (!Number.isInteger(value) || value < 0 || value > 65_535)
        throw new TypeError(`a terminal's width and height are integers from 0 to 65535, got ${value}`);
    if (this.#channel.hasEnded) return;
    const size = Buffer.from(JSON.stringify({ Width: width, Height: height }));
    this.#channel.send(channels.resize, size).catch((error: unknown) => this.#channel.fail(error));
  }

  /** Ends the connection; `exited` rejects with ECANCELED. The command in the container may continue. Idempotent. */
  close(): void {
    this.#reject(new TransportError({ code: 'ECANCELED', message: 'the session was closed', request: this.#request }));
    this.#channel.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  #input(): Writable {
    const stdin = new Writable({
      write: (chunk: Buffer, _, done) => {
        this.#channel.send(channels.stdin, chunk).then(() => done(), done);
      },
      final: (done) => this.#endInput(done),
    });
    stdin.on('error', () => undefined);
    return stdin;
  }

  #endInput(done: (error?: Error) => void): void {
    if (this.#channel.hasEnded) return done();
    if (this.protocol !== remoteCommandProtocols[0]) {
      const message = `${this.protocol} cannot tell the end of stdin: the server is older than Kubernetes 1.30`;
      return done(new TransportError({ code: 'ENOTSUP', message, request: this.#request }));
    }
    this.#channel.send(channels.close, Uint8Array.of(channels.stdin)).then(() => done(), done);
  }

  #output(channel: number): Readable {
    const stream = new Readable({
      read: () => this.#channel.unblock(channel),
      destroy: (error, done) => {
        // A stream that is abandoned must not block the other one.
        this.#channel.unblock(channel);
        done(error);
      },
    });
    stream.on('error', () => undefined);
    return stream;
  }

  #receive(channel: number, payload: Buffer): void {
    switch (channel) {
      case channels.stdout:
        return this.#push(this.stdout, channel, payload);
      case channels.stderr:
        return this.#push(this.stderr, channel, payload);
      case channels.error:
        return this.#settle(this.#status.push(payload));
      case channels.close:
        return this.#closeOutput(payload[0]);
      default:
        // client-go ignores channels that it does not know.
        return undefined;
    }
  }

  // The kubelet sends an empty message when the connection is open.
  #push(stream: Readable, channel: number, payload: Buffer): void {
    if (payload.length === 0 || stream.destroyed || this.#closed.has(stream)) return;
    if (!stream.push(payload)) this.#channel.block(channel);
  }

  #closeOutput(channel: number | undefined): void {
    if (channel === channels.stdout) this.#finish(this.stdout);
    if (channel === channels.stderr) this.#finish(this.stderr);
  }

  #finish(stream: Readable): void {
    if (stream.destroyed || this.#closed.has(stream)) return;
    this.#closed.add(stream);
    stream.push(null);
  }

  #settle(end: CommandEnd | undefined): void {
    if (end?.type === 'exit') this.#resolve(end.exitCode);
    else if (end !== undefined) this.#reject(end.error);
  }

  #end(error: unknown): void {
    if (error !== undefined) {
      this.#reject(error);
      for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy(error as Error);
      return;
    }
    const seen = this.#status.text === '' ? '' : `: ${JSON.stringify(this.#status.text)}`;
    const message = `the connection was closed before the command's exit status came${seen}`;
    // This has no effect once the status has arrived.
    this.#reject(new TransportError({ code: 'ECONNRESET', message, request: this.#request }));
    this.#finish(this.stdout);
    this.#finish(this.stderr);
    this.stdin.destroy();
  }
}

interface AskedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Throws TypeError when no stream is requested, or one that a terminal cannot provide. Source: core/v1 validation, kubectl. */
export function askedStreams(options: AttachOptions): AskedStreams {
  const { stdin = false, stdout = true, tty = false, stderr = !tty } = options;
  if (tty && stderr) throw new TypeError('stderr cannot be combined with tty: a terminal has one output');
  if (!stdin && !stdout && !stderr) throw new TypeError('you must specify at least 1 of stdin, stdout, stderr');
  return { stdin, stdout, stderr, tty };
}

function endedWritable(): Writable {
  const stream = new Writable({ write: (_, __, done) => done() });
  stream.on('error', () => undefined);
  stream.end();
  return stream;
}

function endedReadable(): Readable {
  return Readable.from([]).on('error', () => undefined);
}
