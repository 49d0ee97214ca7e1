// A watch over HTTP: one request, two APIs. `observeWatch` pushes events; `iterateWatch` lets a slow reader pause the socket.
import type { KubernetesObject, WatchEvent } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { addAbortListener, removeAbortListener } from '@kapstan/api/internal';
import type { Subscriber } from 'rxjs';
import { Observable } from 'rxjs/internal/Observable';
import type { HttpRequest } from './transport/http-request.ts';
import { bodyChunks, type OpenStream, type Transport } from './transport/transport.ts';
import { transportErrorFrom } from './transport/transport-error.ts';
import { WatchDecoder } from './watch-decoder.ts';

export interface WatchCall {
  readonly transport: Transport;
  readonly request: HttpRequest;
  readonly signal: AbortSignal | undefined;
  /** Called when the server has accepted the watch. */
  readonly onOpen: (() => void) | undefined;
  /** Time for the server to accept the watch, in milliseconds. 0 = no limit. */
  readonly timeoutMs: number;
  readonly maxEventBytes: number;
  /** Parses one line, see {@link WatchDecoderOptions}. */
  readonly parse?: ((line: string) => unknown) | undefined;
}

export function observeWatch<T extends KubernetesObject>(call: WatchCall): Observable<WatchEvent<T>> {
  return new Observable((subscriber) => {
    const controller = new AbortController();
    const onAbort = (): void => {
      subscriber.error(call.signal?.reason);
    };
    if (call.signal?.aborted) return onAbort();
    addAbortListener(call.signal, onAbort);
    subscriber.add(() => {
      removeAbortListener(call.signal, onAbort);
      controller.abort();
    });
    openWatch({ ...call, signal: controller.signal }).then(
      (stream) => new WatchPump(subscriber, new WatchDecoder<T>(call)).start(stream),
      (error) => subscriber.error(error),
    );
    return undefined;
  });
}

/**
 * Returns an async generator whose `return()` aborts the request at once, even while `next()` waits, whereas a plain generator would wait
 * for the next event.
 */
export function iterateWatch<T extends KubernetesObject>(
  call: WatchCall,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const leaving = new AbortController();
  const events = readWatch<T>(call, leaving);
  const end = events.return.bind(events);
  return Object.assign(events, {
    return: (value: void | PromiseLike<void>) => {
      leaving.abort();
      return end(value);
    },
  });
}

async function* readWatch<T extends KubernetesObject>(
  call: WatchCall,
  leaving: AbortController,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const { signal } = call;
  signal?.throwIfAborted();
  const onAbort = (): void => leaving.abort(signal?.reason);
  addAbortListener(signal, onAbort);
  try {
    const { answer } = await openWatch({ ...call, signal: leaving.signal });
    const decoder = new WatchDecoder<T>(call);
    for await (const chunk of bodyChunks(answer)) {
      for (const event of decoder.decode(chunk)) {
        signal?.throwIfAborted();
        yield event;
      }
    }
    const last = decoder.end();
    if (last !== undefined) yield last;
  } catch (error) {
    signal?.throwIfAborted();
    if (!leaving.signal.aborted) throw error;
  } finally {
    removeAbortListener(signal, onAbort);
    leaving.abort();
  }
}

async function openWatch({ transport, request, signal, timeoutMs, onOpen }: WatchCall): Promise<OpenStream> {
  const stream = await transport.open(request, { signal, timeoutMs });
  const { status, contentType } = stream.answer;
  if (status === 200 && /^application\/json\s*(?:;|$)/i.test(contentType)) {
    onOpen?.();
    return stream;
  }
  stream.scope.abort();
  const what =
    status === 200 ? `content type of a watch: ${JSON.stringify(contentType)}` : `status of a watch: ${status}`;
  throw internalError(`unexpected ${what}`);
}

/** Pushes the events of a body to a subscriber, each in the turn in which its last byte arrives. */
class WatchPump<T extends KubernetesObject> {
  readonly #subscriber: Subscriber<WatchEvent<T>>;
  readonly #decoder: WatchDecoder<T>;

  constructor(subscriber: Subscriber<WatchEvent<T>>, decoder: WatchDecoder<T>) {
    this.#subscriber = subscriber;
    this.#decoder = decoder;
  }

  start({ answer, scope }: OpenStream): void {
    this.#subscriber.add(() => scope.abort());
    const { body, request } = answer;
    // After unsubscription the body still emits the abort as its error; closed subscribers ignore it.
    body.on('error', (error) => this.#subscriber.error(transportErrorFrom(error, request)));
    body.on('end', () => this.#onEnd());
    body.on('data', (chunk: Buffer) => this.#onData(chunk));
  }

  #onData(chunk: Buffer): void {
    try {
      for (const event of this.#decoder.decode(chunk)) {
        this.#subscriber.next(event);
        if (this.#subscriber.closed) return;
      }
    } catch (error) {
      this.#subscriber.error(error);
    }
  }

  #onEnd(): void {
    try {
      const last = this.#decoder.end();
      if (last !== undefined) this.#subscriber.next(last);
      this.#subscriber.complete();
    } catch (error) {
      this.#subscriber.error(error);
    }
  }
}
