// ServerInspector serves the inspector of a control plane: as pages of the API server, behind its authorizer, and for browsers at a port of
// 127.0.0.1 with a token. Opened by listening.ts before the server listens.
import { randomBytes } from 'node:crypto';
import type { Clock } from '@kapstan/api';
import { badRequest, notFound, tooManyRequests } from '@kapstan/api/errors';
import { type Page, type PageRequest, RequestLog } from '@kapstan/apiserver';
import type { InspectorListener, InspectorRoutes } from '@kapstan/inspector';
import { startingWith } from '../lifetime/start-error.ts';
import type { InspectedServer, ServerInspectionOptions } from './server-inspection.ts';

export type ServerInspectorParts = Pick<ServerInspectionOptions, 'caches' | 'engines' | 'loops' | 'clock'>;

/** The parts of the inspector that are loaded where it is on. */
type InspectorModule = typeof import('@kapstan/inspector');

export class ServerInspector {
  /** Learns of the server's requests. */
  readonly requests: RequestLog;
  readonly pages: readonly Page[];
  readonly #routes: InspectorRoutes;
  readonly #module: InspectorModule;
  readonly #clock: Clock;
  #server: InspectedServer | undefined;
  #listener: InspectorListener | undefined;

  private constructor(parts: {
    readonly module: InspectorModule;
    readonly requests: RequestLog;
    readonly clock: Clock;
    readonly routesFor: (server: () => InspectedServer | undefined) => InspectorRoutes;
  }) {
    this.requests = parts.requests;
    this.#module = parts.module;
    this.#clock = parts.clock;
    this.#routes = parts.routesFor(() => this.#server);
    this.pages = this.#routes.paths.map((path) => pageOf(path, this.#routes, parts.module));
  }

  static async open(parts: ServerInspectorParts): Promise<ServerInspector> {
    const { clock } = parts;
    const [module, { ServerInspection }] = await Promise.all([
      import('@kapstan/inspector'),
      import('./server-inspection.ts'),
    ]);
    const requests = new RequestLog({
      clock,
      hidesNames: ({ group, resource }) => group === '' && resource === 'secrets',
    });
    const routesFor = (server: () => InspectedServer | undefined): InspectorRoutes =>
      new module.InspectorRoutes({ inspection: new ServerInspection({ ...parts, requests, server }), clock });
    return new ServerInspector({ module, requests, clock, routesFor });
  }

  /** Shows the watches of this server from now on. */
  follow(server: InspectedServer): void {
    this.#server = server;
  }

  /** Listens at 127.0.0.1 and returns the URL for a browser. Rejects with a StartError when it cannot. */
  async listen(port: number): Promise<string> {
    const token = randomBytes(24).toString('base64url');
    const listener = await startingWith('inspect', () =>
      this.#module.startInspectorListener({ port, host: undefined, token, routes: this.#routes, clock: this.#clock }),
    );
    this.#listener = listener;
    return listener.url;
  }

  /** Ends its streams, so that a server that stops need not wait for them. Idempotent. */
  async close(): Promise<void> {
    this.requests.close();
    this.#routes.close();
    await this.#listener?.close();
  }
}

function pageOf(path: string, routes: InspectorRoutes, { inspectorHeaders, InspectionError }: InspectorModule): Page {
  const respond = async ({ query, signal }: PageRequest) => {
    try {
      return { ...(await routes.answer({ path, query, signal })), headers: inspectorHeaders };
    } catch (error) {
      if (!(error instanceof InspectionError)) throw error;
      if (error.code === 400) throw badRequest(error.message);
      if (error.code === 429) throw tooManyRequests(error.message, 10);
      throw notFound({ group: '', resource: 'inspect' }, path);
    }
  };
  return { path, method: 'GET', respond };
}
