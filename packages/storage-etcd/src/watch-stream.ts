// WatchStream is one stream to one member. It also interprets the order of requests and answers on it. Opened and
// replaced by watch-hub.ts.
import type { Client, ClientDuplexStream, Metadata } from '@grpc/grpc-js';
import type { EtcdWatch } from './etcd-watch.ts';
import { loadWire, noWatchId, type WatchRequest, type WatchResponse } from './wire.ts';

/** The receiver of a stream. It is never called from within a call to the stream. */
export interface WatchStreamSink {
  /** Delivers a message for one watch, which may already be closed. */
  onMessage(id: number, message: WatchResponse): void;
  /** Reports that everything up to the revision was sent to the watches for which `covers` of the stream is true. */
  onProgressOfAll(stream: WatchStream, revision: number): void;
  /** Reports that the stream is over. This is its last call. */
  onEnd(stream: WatchStream, error: unknown): void;
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
  /**
   * Ids of watches whose creation is not yet answered, in the order of the requests, which is the order of the answers.
   */
  readonly #pending: number[] = [];
  #asked = 0;
  #answered = 0;
  #isOver = false;

  constructor({ client, metadata, sink }: WatchStreamInit) {
    this.client = client;
    this.metadata = metadata;
    this.#sink = sink;
    const { path, requestSerialize, responseDeserialize } = loadWire().watch;
    // A member that is cut off from the others must end the stream instead of staying silent.
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
   * Returns whether a progress report for all watches, at this revision, includes this one. etcd answers no request
   * while some watch lags, and answers may overtake creations, so the n-th answer may be for a later request.
   */
  covers({ place, nextRevision }: EtcdWatch, revision: number): boolean {
    if (place?.madeAt === undefined) return false;
    return nextRevision > revision || revision > place.madeAt || place.askedBefore < this.#answered;
  }

  /** Ends the stream. Its sink is not called any more. */
  close(): void {
    this.#isOver = true;
    this.#call.cancel();
  }

  #receive(message: WatchResponse): void {
    if (this.#isOver) return;
    if (message.created) {
      // Some versions refuse a creation without giving its id.
      this.#sink.onMessage(this.#pending.shift() ?? noWatchId, message);
    } else if (message.watchId === noWatchId) {
      this.#answered += 1;
      this.#sink.onProgressOfAll(this, message.header.revision);
    } else {
      this.#sink.onMessage(message.watchId, message);
    }
  }

  #end(error: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call.cancel();
    this.#sink.onEnd(this, error);
  }
}
