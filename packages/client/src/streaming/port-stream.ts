// One connection to a port of a pod as a Duplex, over v4.channel.k8s.io: channel 0 carries data, channel 1 errors, and both
// begin with the port's number.
import { Duplex } from 'node:stream';
import type { CancelTimer, Clock } from '@kapstan/api';
import { TransportError } from '../transport/transport-error.ts';
import type { OpenWebSocket } from '../transport/web-socket-handshake.ts';
import { ChannelSocket } from './channel-socket.ts';

export const portForwardProtocols: readonly string[] = ['v4.channel.k8s.io'];

export interface PortStreamInit {
  readonly opened: OpenWebSocket;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  readonly port: number;
}

const dataChannel = 0;
const errorChannel = 1;
// The protocol cannot report that one side has finished writing. From then on the other side has this long for its next bytes.
const lingerMs = 10_000;

/** Returns the connection as a stream with backpressure in both directions. */
export function portStream(init: PortStreamInit): Duplex {
  return new PortStream(init).duplex;
}

class PortStream {
  readonly duplex: Duplex;
  readonly #init: PortStreamInit;
  readonly #channel: ChannelSocket;
  /** Bytes of the port's number that are still expected, by channel. */
  readonly #prefixLeft: [data: number, error: number] = [2, 2];
  #error = '';
  #cancelLinger: CancelTimer | undefined;

  constructor(init: PortStreamInit) {
    this.#init = init;
    this.#channel = new ChannelSocket({
      ...init,
      onMessage: (channel, payload) => this.#receive(channel, payload),
      onEnd: (error) => this.#end(error),
    });
    this.duplex = new Duplex({
      // When the pod has ended the connection, no reader is left.
      allowHalfOpen: false,
      read: () => this.#channel.unblock(dataChannel),
      write: (chunk: Buffer, _, done) => {
        this.#channel.send(dataChannel, chunk).then(() => done(), done);
      },
      final: (done) => {
        this.#linger();
        done();
      },
      destroy: (error, done) => {
        this.#cancelLinger?.();
        this.#channel.close();
        done(error);
      },
    });
    this.duplex.on('error', () => undefined);
    this.#channel.start();
  }

  #receive(channel: number, payload: Buffer): void {
    if (channel !== dataChannel && channel !== errorChannel) return;
    const skipped = Math.min(this.#prefixLeft[channel], payload.length);
    this.#prefixLeft[channel] -= skipped;
    const bytes = payload.subarray(skipped);
    if (bytes.length === 0) return;
    if (channel === errorChannel) return this.#fail(bytes);
    if (this.#cancelLinger !== undefined) this.#linger();
    if (!this.duplex.push(bytes)) this.#channel.block(dataChannel);
  }

  #fail(bytes: Buffer): void {
    this.#error = (this.#error + bytes.toString('utf8')).slice(0, 2048);
    const { request } = this.#init.opened;
    this.#channel.fail(new TransportError({ code: 'ECONNABORTED', message: this.#error, request }));
  }

  #linger(): void {
    this.#cancelLinger?.();
    if (!this.#channel.hasEnded) this.#cancelLinger = this.#init.clock.setTimer(() => this.#channel.close(), lingerMs);
  }

  #end(error: unknown): void {
    this.#cancelLinger?.();
    if (this.duplex.destroyed) return;
    if (error !== undefined) this.duplex.destroy(error as Error);
    else this.duplex.push(null);
  }
}
