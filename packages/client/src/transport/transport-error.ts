// The error of a call that got no answer: refused, reset, timed out, not trusted. Answers of the server are StatusErrors.

const brand = Symbol.for('@kapstan/client/TransportError');

/** The members of a {@link TransportError}. */
export interface TransportErrorInit {
  /** Node's code if there is one: ECONNREFUSED, ECONNRESET, ETIMEDOUT, ENOTFOUND, ERR_TLS_CERT_ALTNAME_INVALID, … */
  readonly code: string;
  readonly message: string;
  /** The request, "GET https://host/path", without query or credentials. */
  readonly request: string;
  readonly cause?: unknown;
}

/** A call failed below the API. Test with {@link isTransportError}, not instanceof. */
export class TransportError extends Error {
  readonly code: string;
  readonly request: string;

  constructor(init: TransportErrorInit) {
    super(`${init.request}: ${init.message}`, { cause: init.cause });
    this.name = 'TransportError';
    this.code = init.code;
    this.request = init.request;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * True for an error of the connection, which means that the server did not answer.
 *
 * @example
 * ```ts
 * import { connect, isTransportError } from '@kapstan/client';
 * import { Node } from '@kapstan/kinds/core/v1';
 *
 * const client = await connect();
 * try {
 *   await client.list(Node);
 * } catch (error) {
 *   if (!isTransportError(error)) throw error;
 *   console.error(`no answer to ${error.request}: ${error.code}`); // ECONNREFUSED, ETIMEDOUT, …
 * }
 * ```
 */
export function isTransportError(error: unknown): error is TransportError {
  return typeof error === 'object' && error !== null && brand in error;
}

// Maps the codes of undici, node:http2 and node:zlib to the code of the system call that would have failed instead.
const nodeCodes: ReadonlyMap<string, string> = new Map([
  ['UND_ERR_CONNECT_TIMEOUT', 'ETIMEDOUT'],
  ['UND_ERR_HEADERS_TIMEOUT', 'ETIMEDOUT'],
  ['UND_ERR_BODY_TIMEOUT', 'ETIMEDOUT'],
  ['UND_ERR_SOCKET', 'ECONNRESET'],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'ECONNRESET'],
  ['UND_ERR_ABORTED', 'ECONNRESET'],
  ['UND_ERR_DESTROYED', 'ECANCELED'],
  ['UND_ERR_CLOSED', 'ECANCELED'],
  ['UND_ERR_PRX_TLS', 'ECONNREFUSED'],
  // Compressed data that end early are a broken connection; data that are not gzip cannot be decoded.
  ['Z_BUF_ERROR', 'ECONNRESET'],
  ['Z_DATA_ERROR', 'EBADMSG'],
]);

/** Returns the transport error for an error that undici or a socket threw. */
export function transportErrorFrom(error: unknown, request: string): TransportError {
  if (isTransportError(error)) return error;
  const code = codeOf(error);
  return new TransportError({ code: nodeCodeOf(code), message: messageOf(error), request, cause: error });
}

function nodeCodeOf(code: string): string {
  return nodeCodes.get(code) ?? (code.startsWith('ERR_HTTP2_') ? 'ECONNRESET' : code);
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'EIO';
  const { code, cause } = error as { readonly code?: unknown; readonly cause?: unknown };
  if (typeof code === 'string') return code;
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return cause === undefined ? 'EIO' : codeOf(cause);
}

// Node joins the failures of a host's addresses in an AggregateError whose own message is empty.
function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  if (codeOf(error).startsWith('Z_')) return `cannot decompress the answer: ${(error as Error).message}`;
  return error instanceof Error ? error.message : String(error);
}
