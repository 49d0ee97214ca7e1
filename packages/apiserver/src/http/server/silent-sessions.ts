// SilentSessions ends HTTP/2 sessions whose peer is gone without a word. Used by http-server.ts.
//
// Node (20 to 26) notices nothing when a write over TLS fails and another one follows before the next read: the second write never
// completes, and Node does not read while it waits for one. A client that is killed amid its requests leaves such a session.
import type { ServerHttp2Session } from 'node:http2';
import type { CancelTimer, Clock, Logger } from '@kapstan/api';

interface Pace {
  /** Time between two looks at all sessions, in milliseconds. A session that was silent in between gets a ping. */
  readonly lookMs: number;
  /** Time after the ping in which at least one byte must come, in milliseconds. */
  readonly answerMs: number;
}

/** Longer than a client stands still for a good reason, such as a collection of its garbage. */
const serving: Pace = { lookMs: 30_000, answerMs: 60_000 };
/** A server that stops waits for no silent peer. */
const stopping: Pace = { lookMs: 1_000, answerMs: 5_000 };

interface Heard {
  /** Bytes received up to the last look. */
  bytes: number;
  /** When the peer got a ping; undefined if it has sent something since. */
  askedMs: number | undefined;
}

export class SilentSessions {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #sessions = new Map<ServerHttp2Session, Heard>();
  #pace = serving;
  #cancelLook: CancelTimer | undefined;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  add(session: ServerHttp2Session): void {
    this.#sessions.set(session, { bytes: 0, askedMs: undefined });
    session.once('close', () => this.#sessions.delete(session));
    if (this.#cancelLook === undefined) this.#lookLater();
  }

  /** Asks all peers now, and from now on gives them less time. Call it when the server stops. */
  hurry(): void {
    this.#pace = stopping;
    this.#cancelLook?.();
    for (const [session, heard] of this.#sessions) {
      if (session.destroyed) continue;
      heard.bytes = session.socket.bytesRead;
      heard.askedMs = undefined;
    }
    this.#look();
  }

  #lookLater(): void {
    this.#cancelLook = this.#clock.setBackgroundTimer(() => this.#look(), this.#pace.lookMs);
  }

  #look(): void {
    this.#cancelLook = undefined;
    for (const [session, heard] of this.#sessions) this.#check(session, heard);
    if (this.#sessions.size > 0) this.#lookLater();
  }

  #check(session: ServerHttp2Session, heard: Heard): void {
    if (session.destroyed) return;
    const nowMs = this.#clock.monotonicNow();
    const bytes = session.socket.bytesRead;
    if (bytes !== heard.bytes) {
      heard.bytes = bytes;
      heard.askedMs = undefined;
    } else if (heard.askedMs === undefined) {
      heard.askedMs = nowMs;
      // The answer to the ping shows in the bytes received.
      session.ping(() => undefined);
    } else if (nowMs - heard.askedMs >= this.#pace.answerMs) {
      this.#logger.debug('HTTP/2 session ended because its peer is silent', { silentMs: nowMs - heard.askedMs });
      session.destroy();
    }
  }
}
