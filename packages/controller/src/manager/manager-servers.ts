// ManagerServers serves the probes and metrics of a manager, and its inspector on the same port or at a separate address. Used by
// manager.ts.
import type { Clock, Logger } from '@kapstan/api';
import { type ErrorText, quotedErrorText, safeErrorText } from '@kapstan/api/internal';
import type { Inspection, InspectorHandler, InspectorListener } from '@kapstan/inspector';
import { type ProbeServer, type ProbeServerOptions, type ProbeServerPages, startProbeServer } from './probe-server.ts';

/** Address of the inspector, and the extent of its data. */
export interface InspectOptions {
  /** 0 = any free port. Default: the port of `metrics`, answered there to connections from this machine alone; without, any free port. */
  readonly port?: number;
  /**
   * Address to listen at. Default 127.0.0.1, because there is no authentication. At other addresses, everybody who can reach them sees the
   * activity of this process.
   */
  readonly host?: string;
  /**
   * Shows the first line of the text of errors, which may quote values: `JSON.parse` quotes text that it cannot read, a driver its
   * connection string. Text that looks like a credential is left out, without a guarantee. Default false: the class and the code of an
   * error, and answers of the API by reason, object and fields.
   */
  readonly errorTexts?: boolean;
}

/** Returns the function that describes errors for the inspector. */
export function errorTextOf(inspect: boolean | InspectOptions): ErrorText {
  return typeof inspect === 'object' && inspect.errorTexts === true ? quotedErrorText : safeErrorText;
}

export interface ManagerServersOptions {
  readonly metrics: ProbeServerOptions | undefined;
  readonly inspect: boolean | InspectOptions;
  readonly pages: ProbeServerPages;
  /** Returns the data for the inspector. Called once, if the inspector is on. */
  readonly inspection: () => Promise<Inspection>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ManagerServers {
  readonly #options: ManagerServersOptions;
  #probes: ProbeServer | undefined;
  #listener: InspectorListener | undefined;
  #endStreams: () => void = () => undefined;
  #inspectorUrl: string | undefined;

  constructor(options: ManagerServersOptions) {
    this.#options = options;
  }

  get probePort(): number | undefined {
    return this.#probes?.port;
  }

  get inspectorUrl(): string | undefined {
    return this.#inspectorUrl;
  }

  /** Resolves once all listen. Rejects when one cannot; close() ends the others. */
  async start(): Promise<void> {
    const { metrics, inspect, logger } = this.#options;
    const inspector = inspect === false ? undefined : await this.#startInspector(inspect);
    if (metrics !== undefined) {
      const server = await startProbeServer(metrics, { ...this.#options.pages, inspector });
      this.#probes = server;
      // The address depends on whether this is a pod, and the port may be any free one.
      logger.info('serving metrics and probes', { host: server.host, port: server.port });
      if (inspector !== undefined) this.#inspectorUrl = `http://localhost:${server.port}/inspect/`;
    }
    if (this.#inspectorUrl !== undefined) logger.info('serving the inspector', { url: this.#inspectorUrl });
  }

  /**
   * Returns the handler for requests on the port of /metrics; undefined if the inspector has a separate address, at which it then listens.
   */
  async #startInspector(inspect: true | InspectOptions): Promise<InspectorHandler | undefined> {
    const { metrics, clock, inspection } = this.#options;
    // The inspector is loaded only when it is on, because it is a page and code that nothing else needs.
    const { InspectorHandler, InspectorRoutes, startInspectorListener } = await import('@kapstan/inspector');
    const routes = new InspectorRoutes({ inspection: await inspection(), clock });
    this.#endStreams = () => routes.close();
    const own = ownAddress(inspect, metrics);
    if (own === undefined) return new InspectorHandler({ routes, host: undefined, token: undefined, clock });
    this.#listener = await startInspectorListener({ ...own, token: undefined, routes, clock });
    this.#inspectorUrl = this.#listener.url;
    return undefined;
  }

  /** Idempotent. */
  async close(): Promise<void> {
    this.#endStreams();
    await this.#listener?.close();
    await this.#probes?.close();
  }
}

/** Addresses of a server of /metrics that connections from this machine to 127.0.0.1 reach. */
const nearHosts: ReadonlySet<string | undefined> = new Set([undefined, 'localhost', '127.0.0.1', '0.0.0.0', '::']);

/** Returns the inspector's own address; undefined if it is served on the port of /metrics. */
function ownAddress(
  inspect: boolean | InspectOptions,
  metrics: ProbeServerOptions | undefined,
): { readonly port: number; readonly host: string | undefined } | undefined {
  const { port, host } = typeof inspect === 'object' ? inspect : {};
  const isBeside = port === undefined && host === undefined && metrics !== undefined && nearHosts.has(metrics.host);
  return isBeside ? undefined : { port: port ?? 0, host };
}
