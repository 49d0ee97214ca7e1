// The error of a call that got no answer: refused, reset, timed out, not trusted. Answers of the server are StatusErrors.

const brand = Symbol.for('@kapstan/client/TransportError');

export interface TransportErrorInit {
  /** Node's code where there is one: ECONNREFUSED, ECONNRESET, ETIMEDOUT, ENOTFOUND, ERR_TLS_CERT_ALTNAME_INVALID, … */
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

export function isTransportError(error: unknown): error is TransportError {
  return typeof error === 'object' && error !== null && brand in error;
}

// Maps undici's own codes to the code of the system call that would have failed instead.
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
]);

/** Returns the error for what undici or a socket threw. */
export function transportErrorFrom(error: unknown, request: string): TransportError {
  if (isTransportError(error)) return error;
  const code = codeOf(error);
  return new TransportError({ code: nodeCodes.get(code) ?? code, message: messageOf(error), request, cause: error });
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
  return error instanceof Error ? error.message : String(error);
}
