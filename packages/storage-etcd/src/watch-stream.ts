// One watch stream to one member, and what can be told from the order of requests and answers on it.
// Opened and replaced by watch-hub.ts.
import type { Client, ClientDuplexStream, Metadata } from '@grpc/grpc-js';
import type { EtcdWatch } from './etcd-watch.ts';
import { loadWire, noWatchId, type WatchRequest, type WatchResponse } from './wire.ts';

/** What a stream tells. Calls are never made from inside a call to the stream. */
export interface WatchStreamSink {
  /** For one watch, which may be closed already. */
  onMessage(id: number, message: WatchResponse): void;
  /** Everything up to the revision was sent to the watches for which `covers` is true. */
  onProgressOfAll(revision: number): void;
  /** The stream is over; the last call. */
  onEnd(error: unknown): void;
}

export interface WatchStreamInit {
  readonly client: Client;
  readonly metadata: Metadata;
  readonly sink: WatchStreamSink;
}

export class WatchStream {
  readonly client: Client;
  readonly metadata: Metadata;
  readonly #call: ClientDuplexStream<WatchRequest, WatchResponse>;
  readonly #sink: WatchStreamSink;
  /** Ids whose creation is not answered yet, in the order of the requests: etcd answers in this order. */
  readonly #pending: number[] = [];
  #asked = 0;
  #answered = 0;
  #isOver = false;

  constructor({ client, metadata, sink }: WatchStreamInit) {
    this.client = client;
    this.metadata = metadata;
    this.#sink = sink;
    const { path, requestSerialize, responseDeserialize } = loadWire().watch;
    // A member cut off from the others must end the stream instead of staying silent.
    metadata.set('hasleader', 'true');
    this.#call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata);
    this.#call.on('data', (message: WatchResponse) => this.#receive(message));
    this.#call.on('error', (error) => this.#end(error));
    this.#call.on('end', () => this.#end(new Error('etcd ended the watch stream')));
  }

  create(watch: EtcdWatch): void {
    watch.place = { askedBefore: this.#asked };
    this.#pending.push(watch.id);
    this.#call.write(watch.createRequest());
  }

  cancel(watch: EtcdWatch): void {
    if (watch.place !== undefined) this.#call.write({ cancelRequest: { watchId: watch.id } });
  }

  askProgress(): void {
    this.#asked += 1;
    this.#call.write({ progressRequest: {} });
  }

  /**
   * Whether a progress report for all watches, at this revision, speaks of this one. etcd answers no request while some watch
   * is behind, and answers overtake the making of watches, so the n-th answer belongs to the n-th request or a later one.
   */
  covers({ place, nextRevision }: EtcdWatch, revision: number): boolean {
    if (place?.madeAt === undefined) return false;
    return nextRevision > revision || revision > place.madeAt || place.askedBefore < this.#answered;
  }

  /** Ends the stream; its sink hears nothing more. */
  close(): void {
    this.#isOver = true;
    this.#call.cancel();
  }

  #receive(message: WatchResponse): void {
    if (this.#isOver) return;
    if (message.created) {
      // Some versions answer a refused creation with no id.
      this.#sink.onMessage(this.#pending.shift() ?? noWatchId, message);
    } else if (message.watchId === noWatchId) {
      this.#answered += 1;
      this.#sink.onProgressOfAll(message.header.revision);
    } else {
      this.#sink.onMessage(message.watchId, message);
    }
  }

  #end(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.cancel();
    this.#sink.onEnd(error);
  }
}
