// RemoteAvailability checks whether the servers of remote APIServices can be reached, and writes the condition "Available": first
// by the Service and its endpoints, then by asking for the group version's resources. Part of aggregation.ts. Source:
// kube-aggregator controllers/status/remote.
import { type Clock, type DeepReadonly, isConflict, isNotFound, type Logger, type ResourceClient } from '@kapstan/api';
import { counterFamily, LabelSeries, type MetricFamily, messageOf } from '@kapstan/api/internal';
import { type ApiRegistrations, fetchRemoteHead, type RemoteServer } from '@kapstan/apiserver';
import { APIService } from '@kapstan/kinds/apiregistration.k8s.io/v1';
import type { EndpointAddresses } from '@kapstan/kubernetes';
import { aggregatorUser } from './aggregator-user.ts';
import { type Availability, isAvailable, withAvailability } from './api-service-availability.ts';
import { deadlineAfter } from './deadline.ts';
import { RemoteLoop } from './remote-loop.ts';

export interface RemoteAvailabilityOptions {
  readonly client: ResourceClient;
  readonly registrations: ApiRegistrations;
  readonly endpoints: EndpointAddresses;
  /** Resolves when `endpoints` is up to date with the store. */
  readonly whenEndpointsKnown: () => Promise<void>;
  /** Returns the newest known state of an APIService. */
  readonly find: (name: string) => DeepReadonly<APIService> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Changes of service networks are not announced, so each server is checked again after this time. */
const recheckMs = 30_000;
const requestTimeoutMs = 5_000;
/** Number of attempts, of which one success is enough, because one of several endpoints may be gone. */
const attempts = 5;

const passed: Availability = { status: 'True', reason: 'Passed', message: 'all checks passed' };
const clientTimeoutText = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';

export class RemoteAvailability {
  readonly #options: RemoteAvailabilityOptions;
  readonly #loop: RemoteLoop;
  readonly #turnedUnavailable: LabelSeries<{ count: number }> = new LabelSeries(() => ({ count: 0 }));

  constructor(options: RemoteAvailabilityOptions) {
    this.#options = options;
    const { clock, logger } = options;
    this.#loop = new RemoteLoop({
      name: 'RemoteAvailabilityController',
      backoff: { baseMs: 5, maxMs: 30_000 },
      workers: 5,
      visit: (name, signal) => this.#visit(name, signal),
      clock,
      logger,
    });
  }

  check(name: string): void {
    this.#loop.add(name);
  }

  start(): void {
    this.#loop.start();
  }

  close(): Promise<void> {
    return this.#loop.close();
  }

  families(): MetricFamily[] {
    return [
      counterFamily(
        'aggregator_unavailable_apiservice_total',
        'Counter of APIServices which are marked as unavailable broken down by APIService name and reason.',
        this.#turnedUnavailable.samples(({ count }) => count),
      ),
    ];
  }

  async #visit(name: string, signal: AbortSignal): Promise<number | undefined> {
    const { registrations, find, whenEndpointsKnown } = this.#options;
    await whenEndpointsKnown();
    const service = find(name);
    const server = registrations.serverOf(name);
    if (service === undefined || server === undefined) return undefined;
    const fault = this.#faultOfService(server);
    if (fault !== undefined) {
      await this.#tell(service, fault, signal);
      return recheckMs;
    }
    // Without usable TLS settings no condition is written, as in kube-aggregator.
    server.requireUsable();
    const error = await this.#ask(server, signal);
    signal.throwIfAborted();
    if (error === undefined) await this.#tell(service, passed, signal);
    else await this.#tell(service, { status: 'False', reason: 'FailedDiscoveryCheck', message: error.message }, signal);
    if (error !== undefined) throw error;
    return recheckMs;
  }

  /** Returns the fault of the Service or its endpoints; undefined when the server can be asked. */
  #faultOfService(server: RemoteServer): Availability | undefined {
    const { endpoints } = this.#options;
    const { service } = server.remote;
    const { namespace, name, port } = service;
    const shown = `service/${name} in ${JSON.stringify(namespace)}`;
    const unavailable = (reason: string, message: string): Availability => ({ status: 'False', reason, message });
    const route = endpoints.routeOf(service);
    if (route === undefined) return unavailable('ServiceNotFound', `${shown} is not present`);
    if (route.type !== 'ClusterIP') return undefined;
    const servicePort = route.ports.find((candidate) => candidate.port === port);
    if (servicePort === undefined) return unavailable('ServicePortError', `${shown} is not listening on port ${port}`);
    if (!endpoints.hasSlices(service))
      return unavailable('EndpointsNotFound', `cannot find endpointslices for ${shown}`);
    if (endpoints.isReady(service, servicePort.name)) return undefined;
    const portName = JSON.stringify(servicePort.name);
    return unavailable('MissingEndpoints', `endpointslices for ${shown} have no addresses with port name ${portName}`);
  }

  /** Returns the reason why no attempt succeeded; undefined after a success. */
  async #ask(server: RemoteServer, signal: AbortSignal): Promise<Error | undefined> {
    const first = await this.#attempt(server, signal);
    if (first === undefined) return undefined;
    const more = await Promise.all(Array.from({ length: attempts - 1 }, () => this.#attempt(server, signal)));
    return more.includes(undefined) ? undefined : first;
  }

  async #attempt(server: RemoteServer, signal: AbortSignal): Promise<Error | undefined> {
    const { group, version } = server.registration;
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const limit = deadlineAfter(requestTimeoutMs, { clock: this.#options.clock, signal, text: clientTimeoutText });
    let url = '';
    try {
      const { code } = await fetchRemoteHead(server, { path, user: aggregatorUser, signal: limit.signal }, (at) => {
        url = at;
      });
      if (code >= 200 && code < 300) return undefined;
      return new Error(`failing or missing response from ${url}: bad status from ${url}: ${code}`);
    } catch (error) {
      const text = messageOf(error);
      server.dropIdle();
      return new Error(
        url === '' ? text : `failing or missing response from ${url}: Get ${JSON.stringify(url)}: ${text}`,
      );
    } finally {
      limit.cancel();
    }
  }

  async #tell(service: DeepReadonly<APIService>, said: Availability, signal: AbortSignal): Promise<void> {
    const { client, clock, logger } = this.#options;
    const next = withAvailability(service, said, clock.now());
    if (next === undefined) return;
    try {
      await client.update(APIService, next, { subresource: 'status', signal });
    } catch (error) {
      // The object has changed or gone meanwhile, and the next change causes another visit.
      if (isConflict(error) || isNotFound(error)) return;
      throw error;
    }
    const name = service.metadata?.name ?? '';
    const { reason = '', message = '' } = said;
    logger.info('the availability of an APIService changed', { name, status: said.status, reason, message });
    if (!isAvailable(service) || said.status === 'True') return;
    this.#turnedUnavailable.of(`${name} ${reason}`, () => ({ name, reason })).count += 1;
  }
}
