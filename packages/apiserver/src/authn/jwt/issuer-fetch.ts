// Fetches documents of issuers over HTTPS: discovery documents, keys, claims that are elsewhere. Each fetch is limited in
// time and bytes, and connections are kept per issuer, so that one that hangs holds no other. Source: oidc.go (New).
import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import { type Clock, parseTime } from '@kapstan/api';
import { goQuote, messageOf } from '@kapstan/api/internal';
import { checkCertificateNames } from '../../peer/certificate-names.ts';
import { dialError } from '../../peer/dial-error.ts';
import { readAnswer } from '../../peer/read-answer.ts';

export interface IssuerFetchOptions {
  /** PEM of the authorities to trust. "" = the system's authorities. */
  readonly certificateAuthority: string;
  readonly clock: Clock;
}

export interface FetchedDocument {
  readonly code: number;
  readonly statusText: string;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

/** Time of a fetch with all its redirects. */
const timeoutMs = 30_000;
const maxBytes = 1024 * 1024;
const maxRedirects = 10;
const maxConnections = 8;
const redirectCodes: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export class IssuerFetch {
  readonly #clock: Clock;
  readonly #agent: Agent;
  readonly #stop = new AbortController();

  constructor({ certificateAuthority, clock }: IssuerFetchOptions) {
    this.#clock = clock;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: maxConnections,
      maxFreeSockets: 1,
      checkServerIdentity: checkCertificateNames,
      ...(certificateAuthority === '' ? {} : { ca: certificateAuthority }),
    });
  }

  /**
   * Rejects with an Error in the words of a Go client when there is no answer. An answer may have any code. An
   * authorization of "" is not sent.
   */
  async get(url: string, authorization: string = '', signal?: AbortSignal): Promise<FetchedDocument> {
    const stop = new AbortController();
    const cancel = this.#clock.setBackgroundTimer(() => {
      stop.abort(new Error('context deadline exceeded (Client.Timeout exceeded while awaiting headers)'));
    }, timeoutMs);
    const onClose = (): void => stop.abort(new Error('context canceled'));
    this.#stop.signal.addEventListener('abort', onClose);
    signal?.addEventListener('abort', onClose);
    if (this.#stop.signal.aborted || signal?.aborted === true) onClose();
    try {
      return await this.#follow(url, { authorization, signal: stop.signal });
    } catch (error) {
      const reason: unknown = stop.signal.aborted ? stop.signal.reason : error;
      const why = messageOf(reason);
      throw new Error(`Get ${goQuote(url)}: ${why}`, { cause: error });
    } finally {
      cancel();
      this.#stop.signal.removeEventListener('abort', onClose);
      signal?.removeEventListener('abort', onClose);
    }
  }

  /** Ends fetches that are under way, and closes connections. Idempotent. */
  close(): void {
    this.#stop.abort();
    this.#agent.destroy();
  }

  async #follow(
    first: string,
    { authorization, signal }: { readonly authorization: string; readonly signal: AbortSignal },
  ): Promise<FetchedDocument> {
    let url = new URL(first);
    let headers = authorization === '' ? {} : { authorization };
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      if (url.protocol !== 'https:')
        throw new Error(`unsupported protocol scheme ${goQuote(url.protocol.slice(0, -1))}`);
      signal.throwIfAborted();
      const answer = await this.#exchange(url, { headers: { accept: 'application/json', ...headers }, signal });
      const { location } = answer.headers;
      if (!redirectCodes.has(answer.code) || location === undefined) return answer;
      const next = new URL(location, url);
      // A secret is only for the host for which it was given.
      if (next.host !== url.host) headers = {};
      url = next;
    }
    throw new Error(`stopped after ${maxRedirects} redirects`);
  }

  async #exchange(url: URL, options: Pick<RequestOptions, 'headers' | 'signal'>): Promise<FetchedDocument> {
    const answer = await this.#send(url, options);
    const body = (await readAnswer(answer, maxBytes)).toString('utf8');
    const { statusCode: code = 0, statusMessage = '' } = answer;
    return { code, statusText: `${code} ${statusMessage}`, body, headers: answer.headers };
  }

  #send(url: URL, options: Pick<RequestOptions, 'headers' | 'signal'>): Promise<IncomingMessage> {
    const headers = { ...options.headers, 'user-agent': 'kapstan' };
    return new Promise((resolve, reject) => {
      const sent = request(url, { ...options, headers, agent: this.#agent }, resolve);
      const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
      const port = Number(url.port === '' ? 443 : url.port);
      sent.on('error', (error: NodeJS.ErrnoException) => reject(dialError(error, { host, port })));
      sent.end();
    });
  }
}

/** Parses the JSON of an answer. For other content, throws an Error that names its type. */
export function jsonOf({ body, headers }: FetchedDocument): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    const type = headers['content-type'] ?? '';
    const why = messageOf(error);
    if (/^application\/json\s*(;|$)/i.test(type)) {
      throw new Error(`got Content-Type = application/json, but could not unmarshal as JSON: ${why}`, { cause: error });
    }
    throw new Error(`expected Content-Type = application/json, got ${goQuote(type)}: ${why}`, { cause: error });
  }
}

/**
 * Returns the time until which an answer may be kept, in milliseconds; `nowMs` when the answer gives none. Source: RFC
 * 9111.
 */
export function freshUntil({ headers }: FetchedDocument, nowMs: number): number {
  const directives = (headers['cache-control'] ?? '').toLowerCase().split(',');
  const named = new Map(
    directives.map((text) => {
      const [name = '', value = ''] = text.trim().split('=', 2);
      return [name, value] as const;
    }),
  );
  if (named.has('no-store') || named.has('no-cache') || named.has('private')) return nowMs;
  const age = named.get('s-maxage') ?? named.get('max-age');
  if (age !== undefined) {
    const seconds = Number(age.replaceAll('"', ''));
    return Number.isFinite(seconds) && seconds > 0 ? nowMs + seconds * 1000 : nowMs;
  }
  const expires = headers.expires === undefined ? Number.NaN : parseTime(headers.expires);
  // A date that cannot be read is in the past.
  if (expires > nowMs) return expires;
  return nowMs;
}
