// InspectorHandler answers HTTP requests for the inspector: it checks the caller, and sends the answers of inspector-routes.ts. Used by
// inspector-listener.ts, and by the server of /metrics of a manager.
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CancelTimer, Clock } from '@kapstan/api';
import { type HostPolicy, hostProblem, isLoopback, proxyProblem } from './host-policy.ts';
import { InspectionError } from './inspection.ts';
import { type InspectorAnswer, type InspectorRoutes, inspectorHeaders, inspectorRoot } from './inspector-routes.ts';

/** Time for which a stream may take nothing before its connection is cut, in milliseconds. */
const stallMs = 10_000;

/** Options of an {@link InspectorHandler}. */
export interface InspectorHandlerOptions extends HostPolicy {
  readonly routes: InspectorRoutes;
  /** Bearer token that documents require; the page requires none. Undefined = no token. */
  readonly token: string | undefined;
  readonly clock: Clock;
}

/** Answers requests of the inspector over HTTP. */
export class InspectorHandler {
  readonly #options: InspectorHandlerOptions;
  #dropped = 0;

  constructor(options: InspectorHandlerOptions) {
    this.#options = options;
  }

  /** Number of streams that were cut because their clients took nothing. */
  get dropped(): number {
    return this.#dropped;
  }

  /** True for paths that this handler answers. */
  handles(path: string): boolean {
    return path === inspectorRoot || path.startsWith(`${inspectorRoot}/`);
  }

  /** Answers a request; never rejects. */
  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(inspectorHeaders)) response.setHeader(name, value);
    const refusal = this.#refusalOf(request);
    if (refusal !== undefined) return refuse(response, refusal);
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://localhost');
      await this.#send(response, await this.#options.routes.answer({ path, query, signal: gone.signal }));
    } catch (error) {
      if (response.headersSent) response.destroy();
      else if (error instanceof InspectionError) refuse(response, { status: error.code, text: error.message });
      // The error may quote data that it read.
      else refuse(response, { status: 500, text: 'the inspector failed' });
    }
  }

  #refusalOf({ socket, headers, method, url = '/' }: IncomingMessage): Refusal | undefined {
    const { host, token, routes } = this.#options;
    // The server of /metrics listens at all addresses of a pod. To callers from outside, the inspector does not exist.
    const isNear = isLoopback(socket.localAddress) && isLoopback(socket.remoteAddress);
    if (host === undefined && !isNear) return { status: 404, text: '404 page not found' };
    const problem = hostProblem(headers.host, this.#options) ?? proxyProblem(headers, this.#options);
    if (problem !== undefined) return { status: 403, text: problem };
    if (method !== 'GET') return { status: 405, text: 'the inspector only reads: use GET', allow: 'GET' };
    const [path = ''] = url.split('?', 1);
    if (token === undefined || routes.isPage(path) || isBearer(headers.authorization, token)) return undefined;
    return { status: 401, text: 'this needs the token of the printed address, as a bearer token' };
  }

  async #send(response: ServerResponse, { contentType, body }: InspectorAnswer): Promise<void> {
    if (body instanceof Uint8Array) {
      response.writeHead(200, { 'Content-Type': contentType, 'Content-Length': body.length });
      response.end(body);
      return;
    }
    const pieces = body[Symbol.asyncIterator]();
    // The first piece is taken before the head is sent, so that a refused stream still becomes a plain answer.
    let piece = await pieces.next();
    if (response.destroyed) return void (await pieces.return?.());
    response.writeHead(200, { 'Content-Type': contentType });
    for (; !(piece.done === true || response.destroyed); piece = await pieces.next())
      if (!(response.write(piece.value) || (await this.#drains(response)))) break;
    await pieces.return?.();
    response.end();
  }

  /** Resolves to false when the client has gone, or took nothing for too long and was cut off. */
  #drains(response: ServerResponse): Promise<boolean> {
    return new Promise((resolve) => {
      let cancel: CancelTimer = () => undefined;
      const end = (isRoom: boolean): void => {
        cancel();
        response.removeListener('drain', onDrain);
        response.removeListener('close', onClose);
        resolve(isRoom);
      };
      const onDrain = (): void => end(true);
      const onClose = (): void => end(false);
      response.once('drain', onDrain);
      response.once('close', onClose);
      cancel = this.#options.clock.setBackgroundTimer(() => {
        this.#dropped++;
        end(false);
        response.destroy();
      }, stallMs);
    });
  }
}

interface Refusal {
  readonly status: number;
  readonly text: string;
  readonly allow?: string;
}

function refuse(response: ServerResponse, { status, text, allow }: Refusal): void {
  const body = Buffer.from(`${text}\n`);
  if (allow !== undefined) response.setHeader('Allow', allow);
  if (status === 401) response.setHeader('WWW-Authenticate', 'Bearer');
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': body.length });
  response.end(body);
}

function isBearer(header: string | undefined, token: string): boolean {
  const [given, wanted] = [Buffer.from(header ?? ''), Buffer.from(`Bearer ${token}`)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
