// WebhookConnections keeps the connections to webhooks that are trusted in the same way. A burst of calls opens its connections a few at a
// time, because each handshake costs about a millisecond of CPU on the thread that serves all requests. Used by webhook-pool.ts.

import { createSecureContext, type SecureContext } from 'node:tls';
import { nextTurn, onNextTurn } from '@kapstan/api/internal';
import type { CallStop } from './call-stop.ts';
import {
  isCut,
  type WebhookAnswer,
  WebhookConnection,
  type WebhookPlace,
  type WebhookRequest,
} from './webhook-connection.ts';
import type { WebhookKeyPair } from './webhook-target.ts';

/** Authorities that the server trusts for a webhook, and the certificate that it presents. */
export interface WebhookTrust {
  /** PEM certificates of the authorities to trust. Blank = the system's authorities. */
  readonly caBundle: string;
  readonly certificate?: WebhookKeyPair | undefined;
  readonly trustsAnyone?: boolean | undefined;
}

export interface ConnectionSetOptions {
  readonly trust: WebhookTrust;
  /** Maximum number of connections to one place. */
  readonly maxConnections: number;
}

/** Maximum number of certificates of authorities for one webhook. */
const maxAuthorities = 1_000;
/** Number of them that are read in one turn. Each takes a quarter of a millisecond. */
const authoritiesPerTurn = 50;

/** Maximum number of handshakes with one place at the same time. */
const maxHandshakes = 16;

/** A call that waits for a connection. */
interface Waiting {
  readonly use: (connection: WebhookConnection) => void;
  readonly fail: (error: Error) => void;
}

/** Connections to one place. */
interface Connections {
  readonly place: WebhookPlace;
  /** Connections without a call, most recently used last. */
  readonly idle: WebhookConnection[];
  readonly all: Set<WebhookConnection>;
  /** Connections whose handshake is not finished. */
  readonly opening: Set<WebhookConnection>;
  /** Calls that wait for a connection, in their order. */
  readonly waiting: Set<Waiting>;
}

export class WebhookConnections {
  readonly #secureContext: SecureContext;
  readonly #trustsAnyone: boolean;
  readonly #maxConnections: number;
  /** Resolves when all authorities are trusted. Undefined = they already are. */
  #trusting: Promise<void> | undefined;
  /** Places without connections and calls are absent. */
  readonly #places = new Map<string, Connections>();
  #isEnded = false;

  /** Throws when there are too many authorities. */
  constructor({ trust, maxConnections }: ConnectionSetOptions) {
    const { caBundle, certificate = {}, trustsAnyone = false } = trust;
    const blocks = caBundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
    if (blocks.length > maxAuthorities)
      throw new Error(`unable to load root certificates: more than ${maxAuthorities} of them`);
    const isLong = blocks.length > authoritiesPerTurn;
    const authorities = caBundle.trim() === '' ? {} : { ca: isLong ? blocks.slice(0, authoritiesPerTurn) : caBundle };
    // The context is made once, because reading authorities takes as long as a handshake.
    this.#secureContext = createSecureContext({ ...authorities, ...certificate });
    if (isLong) this.#trusting = this.#trustMore(blocks.slice(authoritiesPerTurn));
    this.#trustsAnyone = trustsAnyone;
    this.#maxConnections = maxConnections;
  }

  /** True = no call is under way or waits. */
  get isIdle(): boolean {
    for (const { all, idle, waiting } of this.#places.values())
      if (waiting.size > 0 || all.size > idle.length) return false;
    return true;
  }

  /** Sends a request. Tries again if the webhook closed an idle connection just as it was used. Rejects at a stop. */
  async send(place: WebhookPlace, request: WebhookRequest, stop: CallStop): Promise<WebhookAnswer> {
    if (this.#trusting !== undefined) await this.#trusting;
    for (;;) {
      const connections = this.#connectionsTo(place);
      const connection = await this.#take(connections, stop);
      const wasIdle = connection.hasAnswered;
      stop.onStop(() => connection.end());
      try {
        const answer = await connection.send(request);
        // The connection may be another call's from now on.
        stop.onStop(() => undefined);
        this.#give(connections, connection);
        return answer;
      } catch (error) {
        connection.end();
        stop.throwIfStopped();
        if (!wasIdle || !isCut(error)) throw error;
      }
    }
  }

  /** Ends all connections. Calls that are under way, waiting and later ones fail. */
  end(): void {
    this.#isEnded = true;
    for (const { all, waiting } of [...this.#places.values()]) {
      for (const { fail } of waiting) fail(ended());
      waiting.clear();
      for (const connection of [...all]) connection.end();
    }
  }

  async #trustMore(blocks: readonly string[]): Promise<void> {
    for (const [index, block] of blocks.entries()) {
      if (index % authoritiesPerTurn === 0) await nextTurn();
      this.#secureContext.context.addCACert(block);
    }
    this.#trusting = undefined;
  }

  #take(connections: Connections, stop: CallStop): Promise<WebhookConnection> {
    return new Promise((resolve, reject) => {
      if (this.#isEnded) return reject(ended());
      const waiting: Waiting = { use: resolve, fail: reject };
      connections.waiting.add(waiting);
      stop.onStop(() => {
        connections.waiting.delete(waiting);
        reject(new Error('the call was stopped'));
      });
      this.#serve(connections);
    });
  }

  #give(connections: Connections, connection: WebhookConnection): void {
    // A webhook may close a connection with its answer, and several calls may wait for the next one.
    if (connection.isUsable) connections.idle.push(connection);
    else connection.end();
    this.#serve(connections);
  }

  #connectionsTo(place: WebhookPlace): Connections {
    const key = keyOf(place);
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const connections: Connections = { place, idle: [], all: new Set(), opening: new Set(), waiting: new Set() };
    this.#places.set(key, connections);
    return connections;
  }

  /** Gives connections to the calls that wait, as far as there are any or may be opened. */
  #serve(connections: Connections): void {
    const { place, idle, all, waiting } = connections;
    for (const call of waiting) {
      const connection = idle.pop() ?? this.#opened(connections);
      if (connection === undefined) return;
      waiting.delete(call);
      call.use(connection);
    }
    const key = keyOf(place);
    // This may run so late that the place has other connections already.
    if (all.size === 0 && this.#places.get(key) === connections) this.#places.delete(key);
  }

  #opened(connections: Connections): WebhookConnection | undefined {
    const { place, idle, all, opening } = connections;
    if (all.size >= this.#maxConnections || opening.size >= maxHandshakes) return undefined;
    const connection = new WebhookConnection({
      place,
      secureContext: this.#secureContext,
      trustsAnyone: this.#trustsAnyone,
      onOpen: () => {
        opening.delete(connection);
        this.#serve(connections);
      },
      onEnd: () => {
        all.delete(connection);
        opening.delete(connection);
        const index = idle.indexOf(connection);
        if (index !== -1) idle.splice(index, 1);
        // The calls of a burst time out in one turn. Connections for those that still wait in this turn would be opened
        // in vain.
        onNextTurn(() => this.#serve(connections));
      },
    });
    all.add(connection);
    opening.add(connection);
    return connection;
  }
}

function keyOf({ hostname, port, servername }: WebhookPlace): string {
  return `${hostname} ${port} ${servername}`;
}

function ended(): Error {
  return new Error('context canceled');
}
