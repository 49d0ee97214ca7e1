// InspectorListener serves the inspector over plain HTTP at a separate address, loopback unless another is requested.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '@kapstan/api';
import { InspectorHandler } from './inspector-handler.ts';
import { type InspectorRoutes, inspectorRoot } from './inspector-routes.ts';

/** Options of an {@link InspectorListener}. */
export interface InspectorListenerOptions {
  /** 0 = any free port. */
  readonly port: number;
  /** Undefined = 127.0.0.1. */
  readonly host: string | undefined;
  /** Bearer token that documents require. Undefined = none. */
  readonly token: string | undefined;
  readonly routes: InspectorRoutes;
  readonly clock: Clock;
}

/** A server of the inspector at a separate address. */
export interface InspectorListener {
  readonly port: number;
  /** URL for a browser. The token, if there is one, is in its fragment, which browsers do not send. */
  readonly url: string;
  /** Ends the server and its streams. Idempotent. */
  close(): Promise<void>;
}

/** Resolves once it listens. Rejects when it cannot. */
export async function startInspectorListener(options: InspectorListenerOptions): Promise<InspectorListener> {
  const { routes, token, host } = options;
  const handler = new InspectorHandler(options);
  const server = createServer((request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1);
    if (handler.handles(path)) return void handler.serve(request, response);
    // A user who opens the address without a path wants the page.
    response.writeHead(path === '/' ? 302 : 404, path === '/' ? { Location: `${inspectorRoot}/` } : {});
    response.end();
  });
  await listen(server, { port: options.port, host: host ?? '127.0.0.1' });
  const { port, address, family } = server.address() as AddressInfo;
  const shown = address === '::' || address === '0.0.0.0' ? 'localhost' : family === 'IPv6' ? `[${address}]` : address;
  return {
    port,
    url: `http://${shown}:${port}${inspectorRoot}/${token === undefined ? '' : `#token=${token}`}`,
    close: () =>
      new Promise((resolve) => {
        routes.close();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function listen(server: Server, at: { readonly port: number; readonly host: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(at, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}
