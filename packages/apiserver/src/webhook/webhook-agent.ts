// WebhookAgent keeps the connections of webhooks that are trusted in the same way. A burst of calls opens its connections a few at a time,
// because each handshake costs about a millisecond of CPU on the thread that serves all requests. Used by webhook-pool.ts.
import type { ClientRequestArgs } from 'node:http';
import { Agent } from 'node:https';
import type { Duplex } from 'node:stream';
import { createSecureContext } from 'node:tls';
import { checkCertificateNames } from '../peer/certificate-names.ts';
import type { WebhookKeyPair } from './webhook-target.ts';

/** Authorities that the server trusts for a webhook, and the certificate that it presents. */
export interface WebhookTrust {
  /** PEM certificates of the authorities to trust. Blank = the system's authorities. */
  readonly caBundle: string;
  readonly certificate?: WebhookKeyPair | undefined;
  readonly trustsAnyone?: boolean | undefined;
}

export interface WebhookAgentOptions {
  readonly trust: WebhookTrust;
  /** Maximum number of connections to one address. */
  readonly maxConnections: number;
}

const idleMs = 90_000;
/** Maximum number of handshakes with one address at the same time. */
const maxHandshakes = 16;

type OnConnection = (error: Error | null, connection: Duplex) => void;

/** Connections to one address that are being opened, and those that will be opened next. */
interface Opening {
  handshakes: number;
  /** Open them, or refuse them with an error. */
  readonly waiting: ((refusal?: Error) => void)[];
}

export class WebhookAgent extends Agent {
  /** Connections being opened, by address, so that a webhook whose handshakes hang delays no other. Absent = none. */
  readonly #opening = new Map<string, Opening>();
  #isDestroyed = false;

  constructor({ trust, maxConnections }: WebhookAgentOptions) {
    const { caBundle, certificate = {}, trustsAnyone = false } = trust;
    const authorities = caBundle.trim() === '' ? {} : { ca: caBundle };
    super({
      keepAlive: true,
      timeout: idleMs,
      maxSockets: maxConnections,
      // All may stay open, because calls come in waves and a new connection costs ten times as much as a call.
      maxFreeSockets: maxConnections,
      // Keeping a session costs as much as it saves.
      maxCachedSessions: 0,
      scheduling: 'lifo',
      checkServerIdentity: checkCertificateNames,
      rejectUnauthorized: !trustsAnyone,
      // The context is made once, because reading authorities takes as long as a handshake.
      secureContext: createSecureContext({ ...authorities, ...certificate }),
    });
  }

  /** True = no call is under way or waits. */
  get isIdle(): boolean {
    return Object.keys(this.sockets).length === 0 && Object.keys(this.requests).length === 0;
  }

  /** Also refuses waiting connections and all later ones. */
  override destroy(): void {
    this.#isDestroyed = true;
    for (const { waiting } of this.#opening.values()) for (const refuse of waiting.splice(0)) refuse(destroyed());
    super.destroy();
  }

  override createConnection(options: ClientRequestArgs, onConnection?: OnConnection): undefined {
    if (this.#isDestroyed) return this.#refuse(destroyed(), onConnection);
    const address = this.getName(options);
    const opening = this.#opening.get(address) ?? { handshakes: 0, waiting: [] };
    this.#opening.set(address, opening);
    const open = (refusal?: Error): void => {
      if (refusal !== undefined) return this.#refuse(refusal, onConnection);
      opening.handshakes++;
      const connection = super.createConnection(options) as Duplex;
      const done = (): void => {
        connection.off('secureConnect', done).off('close', done);
        opening.handshakes--;
        opening.waiting.shift()?.();
        if (opening.handshakes === 0) this.#opening.delete(address);
      };
      connection.once('secureConnect', done).once('close', done);
      onConnection?.(null, connection);
    };
    if (opening.handshakes < maxHandshakes) open();
    else opening.waiting.push(open);
  }

  #refuse(refusal: Error, onConnection: OnConnection | undefined): undefined {
    // Node's types do not show that there is no connection together with an error.
    onConnection?.(refusal, undefined as unknown as Duplex);
  }
}

function destroyed(): Error {
  return new Error('context canceled');
}
