// Numbered channels over one WebSocket, as in Kubernetes' channel protocols: the first byte of each binary message is
// the channel. Handles pings, backpressure and the end of a connection. Used by remote-command and port-stream.
import type { CancelTimer, Clock } from '@kapstan/api';
import { addAbortListener, removeAbortListener } from '@kapstan/api/internal';
import { TransportError, transportErrorFrom } from '../transport/transport-error.ts';
import type { OpenWebSocket } from '../transport/web-socket-handshake.ts';

export interface ChannelSocketOptions {
  readonly opened: OpenWebSocket;
  readonly clock: Clock;
  /** Ends the connection at once; `onEnd` gets its reason. */
  readonly signal?: AbortSignal | undefined;
  readonly onMessage: (channel: number, payload: Buffer) => void;
  /** Called once. undefined = the peer closed the connection normally, or {@link ChannelSocket.close} was called. */
  readonly onEnd: (error: unknown) => void;
}

// Source: client-go tools/remotecommand/websocket.go (heartbeat).
const pingMs = 5_000;
const silenceMs = 61_000;
const frameBytes = 32_768;

const peacefulCodes: readonly number[] = [1000, 1005];

export class ChannelSocket {
  readonly #options: ChannelSocketOptions;
  readonly #blocked = new Set<number>();
  readonly #onAbort = (): void => this.fail(this.#options.signal?.reason);
  #cancelPing: CancelTimer | undefined;
  #lastHeardMs: number;
  #isClosing = false;
  #hasEnded = false;

  constructor(options: ChannelSocketOptions) {
    this.#options = options;
    this.#lastHeardMs = options.clock.monotonicNow();
  }

  /** The subprotocol chosen by the server. */
  get protocol(): string {
    return this.#options.opened.socket.protocol;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Starts to deliver messages. Call it once the owner can accept them. */
  start(): void {
    const { socket } = this.#options.opened;
    const { signal } = this.#options;
    socket.on('message', (data, isBinary) => this.#receive(data as Buffer, isBinary));
    socket.on('ping', () => this.#hear());
    socket.on('pong', () => this.#hear());
    socket.on('error', (error) => this.fail(error));
    socket.on('close', (code, reason) => this.#closed(code, reason.toString('utf8')));
    if (signal?.aborted) return this.#onAbort();
    addAbortListener(signal, this.#onAbort);
    this.#schedulePing();
    socket.resume();
  }

  /**
   * Sends bytes in frames of 32 KiB. Resolves when the socket has accepted the last of them; a caller that waits for this before the next
   * chunk is slowed down by a slow peer. Rejects when the connection has ended.
   */
  async send(channel: number, payload: Uint8Array): Promise<void> {
    for (let at = 0; at < payload.length || at === 0; at += frameBytes) {
      const part = payload.subarray(at, at + frameBytes);
      const frame = Buffer.allocUnsafe(part.length + 1);
      frame[0] = channel;
      frame.set(part, 1);
      await this.#sendFrame(frame);
    }
  }

  /** Stops reading the socket, for all channels, until none is blocked: the protocol has no other backpressure. */
  block(channel: number): void {
    this.#blocked.add(channel);
    if (!this.#hasEnded) this.#options.opened.socket.pause();
  }

  unblock(channel: number): void {
    if (!this.#blocked.delete(channel) || this.#blocked.size > 0 || this.#hasEnded) return;
    this.#hear();
    this.#options.opened.socket.resume();
  }

  /** Closes the connection normally. `onEnd` follows, with undefined. */
  close(): void {
    if (this.#hasEnded || this.#isClosing) return;
    this.#isClosing = true;
    this.#options.opened.socket.close(1000);
    // A paused socket would never read the peer's close frame.
    this.#options.opened.socket.resume();
    this.#end(undefined);
  }

  /** Drops the connection; `onEnd` gets the error unchanged, or as a TransportError when it came from the network. */
  fail(error: unknown): void {
    if (this.#hasEnded) return;
    this.#end(error === this.#options.signal?.reason ? error : transportErrorFrom(error, this.#options.opened.request));
    this.#options.opened.socket.terminate();
  }

  #sendFrame(frame: Buffer): Promise<void> {
    const { socket, request } = this.#options.opened;
    return new Promise((resolve, reject) => {
      if (this.#hasEnded) {
        reject(new TransportError({ code: 'EPIPE', message: 'the connection has ended', request }));
        return;
      }
      socket.send(frame, { binary: true }, (error) => {
        if (error) reject(transportErrorFrom(error, request));
        else resolve();
      });
    });
  }

  #receive(data: Buffer, isBinary: boolean): void {
    this.#hear();
    if (this.#hasEnded) return;
    const channel = data[0];
    if (!isBinary || channel === undefined) {
      const message = isBinary
        ? 'a frame does not contain a channel byte'
        : 'a text frame on a binary channel protocol';
      this.fail(new TransportError({ code: 'EBADMSG', message, request: this.#options.opened.request }));
      return;
    }
    this.#options.onMessage(channel, data.subarray(1));
  }

  #closed(code: number, reason: string): void {
    if (this.#hasEnded) return;
    if (peacefulCodes.includes(code)) return this.#end(undefined);
    const { request, cause } = this.#options.opened;
    const known = cause();
    if (known !== undefined) return this.#end(transportErrorFrom(known, request));
    const said = reason === '' ? '' : `: ${reason}`;
    const message = code === 1006 ? 'lost connection' : `the server ended the connection with code ${code}${said}`;
    return this.#end(new TransportError({ code: 'ECONNRESET', message, request }));
  }

  #hear(): void {
    this.#lastHeardMs = this.#options.clock.monotonicNow();
  }

  #schedulePing(): void {
    this.#cancelPing = this.#options.clock.setTimer(() => {
      if (this.#isSilent()) {
        const message = `no sign of life within ${silenceMs} ms`;
        this.fail(new TransportError({ code: 'ETIMEDOUT', message, request: this.#options.opened.request }));
        return;
      }
      // The ping fails only when the connection has ended, which "close" reports.
      this.#options.opened.socket.ping(undefined, undefined, () => undefined);
      this.#schedulePing();
    }, pingMs);
  }

  // While this side does not read, it receives no pongs, so silence does not mean a dead peer.
  #isSilent(): boolean {
    return this.#blocked.size === 0 && this.#options.clock.monotonicNow() - this.#lastHeardMs >= silenceMs;
  }

  #end(error: unknown): void {
    this.#hasEnded = true;
    this.#cancelPing?.();
    removeAbortListener(this.#options.signal, this.#onAbort);
    this.#options.onEnd(error);
  }
}
