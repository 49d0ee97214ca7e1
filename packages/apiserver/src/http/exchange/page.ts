// Page: a path outside the API that the builder of a server adds, such as the documents of the token issuer. Served by
// path-router.ts, after authentication and authorisation.
import { abortSignalOf } from '@kapstan/api/internal';
import type { Exchange } from './exchange.ts';
import { requireProduced } from './negotiation.ts';

/** A request to a {@link Page}. */
export interface PageRequest {
  /** Scheme and host by which the client names this server, for example "https://127.0.0.1:6443". */
  readonly origin: string;
  readonly query: URLSearchParams;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

/** The answer of a {@link Page}. */
export interface PageAnswer {
  readonly contentType: string;
  /** Default "no-cache, private". */
  readonly cacheControl?: string;
  /** Further headers. Default none. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * The pieces of an iterable are sent as they come, as fast as the client takes them; an error among them cuts the
   * connection.
   */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** A page of the server that is not a resource, such as /metrics. */
export interface Page {
  /** For example "/openid/v1/jwks". A path below /debug/ has no time limit. */
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'any';
  /** False: the index of paths leaves the page out. Default true. */
  readonly isListed?: boolean;
  /** Media type that Accept must allow; otherwise the page is refused with 406. Default: Accept is ignored. */
  readonly produces?: string;
  /** Returns the answer. Throws StatusError to refuse the request. */
  respond(request: PageRequest): PageAnswer | Promise<PageAnswer>;
}

/** Answers with the page. */
export async function servePage(exchange: Exchange, page: Page): Promise<void> {
  if (page.produces !== undefined) requireProduced(exchange.header('accept') ?? '', [page.produces]);
  const host = exchange.header('host') ?? exchange.header(':authority') ?? '';
  const origin = `${exchange.socket?.encrypted === true ? 'https' : 'http'}://${host}`;
  const answer = await page.respond({ origin, query: exchange.query, signal: abortSignalOf(exchange.signal) });
  exchange.setHeader('Content-Type', answer.contentType);
  for (const [name, value] of Object.entries(answer.headers ?? {})) exchange.setHeader(name, value);
  if (answer.cacheControl !== undefined) exchange.setHeader('Cache-Control', answer.cacheControl);
  if (answer.body instanceof Uint8Array) return exchange.send(200, answer.body);
  await sendPieces(exchange, answer.body);
}

/** Sends bytes of unknown length. */
export async function sendPieces(exchange: Exchange, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const stream = exchange.open(200);
  try {
    for await (const piece of pieces) {
      if (stream.isClosed) return;
      if (!stream.write(piece)) await stream.drained();
    }
  } catch (error) {
    stream.abort();
    throw error;
  }
  stream.end();
}
