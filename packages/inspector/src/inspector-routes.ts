// InspectorRoutes answers a path below /inspect with a document, a stream or the page. It knows no HTTP: inspector-handler.ts and the API
// server's pages pass its answers on.
import type { Clock } from '@kapstan/api';
import { inspectorPage, pageScriptHash, pageStyleHash } from './generated/page.ts';
import { type Inspection, InspectionError } from './inspection.ts';
import { InspectorFeed } from './inspector-feed.ts';
import { inspectorApiVersion } from './overview.ts';

/** An answer of the inspector. */
export interface InspectorAnswer {
  readonly contentType: string;
  /** The pieces of an iterable are sent as they come. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array>;
}

/** A request to the inspector. */
export interface InspectorRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal;
}

/** Options of {@link InspectorRoutes}. */
export interface InspectorRoutesOptions {
  readonly inspection: Inspection;
  readonly clock: Clock;
}

/** The path below which the inspector answers. */
export const inspectorRoot = '/inspect';
const versionRoot = `${inspectorRoot}/v1`;

/** Headers of every answer: nothing is cached, embedded, or loaded from elsewhere, and only the page's own script runs. */
export const inspectorHeaders: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': [
    "default-src 'none'",
    `script-src '${pageScriptHash}'`,
    `style-src '${pageStyleHash}'`,
    "connect-src 'self'",
    // An empty icon, so that browsers do not request one.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

const encoder = new TextEncoder();
const json = 'application/json; charset=utf-8';

/** The pages and documents of the inspector. */
export class InspectorRoutes {
  readonly #inspection: Inspection;
  readonly #feed: InspectorFeed;

  constructor(options: InspectorRoutesOptions) {
    this.#inspection = options.inspection;
    this.#feed = new InspectorFeed(options);
  }

  /** Every path that is answered, for servers that route by path. */
  get paths(): readonly string[] {
    const documents = ['overview', 'live', ...Object.keys(this.#inspection.documents)];
    return [inspectorRoot, versionRoot, ...documents.map((name) => `${versionRoot}/${name}`)];
  }

  /** True for the page itself, which contains no data about the process. */
  isPage(path: string): boolean {
    return path === inspectorRoot || path === `${inspectorRoot}/`;
  }

  /** Rejects with {@link InspectionError} if there is no answer. */
  async answer({ path, query, signal }: InspectorRequest): Promise<InspectorAnswer> {
    if (this.isPage(path)) return { contentType: 'text/html; charset=utf-8', body: encoder.encode(inspectorPage) };
    const bare = path.endsWith('/') ? path.slice(0, -1) : path;
    if (bare === versionRoot) return jsonAnswer(JSON.stringify(this.#index()));
    const name = bare.startsWith(`${versionRoot}/`) ? bare.slice(versionRoot.length + 1) : '';
    if (name === 'overview') return jsonAnswer(await this.#feed.overview());
    if (name === 'live') return { contentType: 'text/event-stream; charset=utf-8', body: this.#feed.watch(signal) };
    const { documents } = this.#inspection;
    const make = Object.hasOwn(documents, name) ? documents[name] : undefined;
    if (make === undefined) throw new InspectionError(404, `there is no document here; ${versionRoot} lists them`);
    return jsonAnswer(JSON.stringify(await make(query)));
  }

  /** Ends all streams. Idempotent. */
  close(): void {
    this.#feed.close();
  }

  #index(): unknown {
    const { subject, name } = this.#inspection;
    return { apiVersion: inspectorApiVersion, kind: 'Index', subject, name, paths: this.paths };
  }
}

function jsonAnswer(text: string): InspectorAnswer {
  return { contentType: json, body: encoder.encode(`${text}\n`) };
}
