// Aggregation passes requests for group versions on to the API server behind the Service that their APIService names. It follows the
// APIServices, finds the addresses of Services, and keeps availability, discovery and schemas in step. Made by listening.ts. Source:
// kube-aggregator apiserver.go, apiservice_controller.go.
import type { Clock, DeepReadonly, KubernetesObject, Logger, ResourceClient } from '@kapstan/api';
import { formatMetrics, gaugeFamily, type MetricFamily, type MetricsText } from '@kapstan/api/internal';
import { type ApiRegistration, ApiRegistrations, type ProxyCertificate, type RemoteApi } from '@kapstan/apiserver';
import { APIService } from '@kapstan/kinds/apiregistration.k8s.io/v1';
import { Service } from '@kapstan/kinds/core/v1';
import { EndpointSlice } from '@kapstan/kinds/discovery.k8s.io/v1';
import { EndpointAddresses, type EndpointAddressesKind } from '@kapstan/kubernetes';
import { KindFeed } from '../lifetime/kind-feed.ts';
import { isAvailable } from './api-service-availability.ts';
import { RemoteAvailability } from './remote-availability.ts';
import { RemoteDiscoveryLoop } from './remote-discovery-loop.ts';
import { RemoteOpenApiLoop } from './remote-openapi-loop.ts';

export interface AggregationOptions {
  readonly client: ResourceClient;
  /** The certificate that this server presents to others. Undefined = none. */
  readonly proxyCertificate: ProxyCertificate | undefined;
  /** True = only endpoints of Services are tried, neither cluster addresses nor external names. */
  readonly endpointsOnly: boolean;
  readonly rejectsRedirects: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Stored = DeepReadonly<APIService>;

export class Aggregation {
  readonly registrations: ApiRegistrations;
  readonly #services = new Map<string, Stored>();
  readonly #feed: KindFeed<string>;
  readonly #endpoints: EndpointAddresses;
  readonly #endpointFeed: KindFeed<EndpointAddressesKind>;
  /** Set when the first remote APIService appears: until then nothing needs the endpoints, so they are not followed. */
  #endpointsKnown: Promise<void> | undefined;
  readonly #availability: RemoteAvailability;
  readonly #discovery: RemoteDiscoveryLoop;
  readonly #openApi: RemoteOpenApiLoop;

  /** Creates it idle; {@link start} starts it. */
  constructor(options: AggregationOptions) {
    const { client, proxyCertificate, endpointsOnly, rejectsRedirects, clock, logger } = options;
    this.#endpoints = new EndpointAddresses({ endpointsOnly, onChange: (key) => this.#onEndpoints(key) });
    this.registrations = new ApiRegistrations({
      resolveService: async (service) => {
        await this.#whenEndpointsKnown();
        return this.#endpoints.resolve(service);
      },
      proxyCertificate,
      rejectsRedirects,
    });
    const store = {
      set: (_kind: string, object: DeepReadonly<KubernetesObject>) => this.#set(object as Stored),
      delete: (_kind: string, object: DeepReadonly<KubernetesObject>) => this.#delete(nameOf(object)),
      replace: (_kind: string, objects: Iterable<DeepReadonly<KubernetesObject>>) =>
        this.#replace([...objects] as Stored[]),
    };
    const ports = { client, clock, logger };
    this.#feed = new KindFeed({ ...ports, kinds: [APIService], store, what: 'APIServices' });
    const kinds = [Service, EndpointSlice];
    this.#endpointFeed = new KindFeed({ ...ports, kinds, store: this.#endpoints, what: 'endpoints of services' });
    const whenEndpointsKnown = (): Promise<void> => this.#whenEndpointsKnown();
    const remote = { registrations: this.registrations, whenEndpointsKnown, clock, logger };
    const find = (name: string): Stored | undefined => this.#services.get(name);
    this.#availability = new RemoteAvailability({ ...remote, client, endpoints: this.#endpoints, find });
    this.#discovery = new RemoteDiscoveryLoop(remote);
    this.#openApi = new RemoteOpenApiLoop(remote);
  }

  get metrics(): MetricsText {
    return { metrics: async () => formatMetrics(this.#families()) };
  }

  start(): void {
    this.#feed.start();
    this.#availability.start();
    this.#discovery.start();
    this.#openApi.start();
  }

  /** Presents another certificate to other API servers, and checks their availability again. */
  useProxyCertificate(certificate: ProxyCertificate): void {
    this.registrations.useProxyCertificate(certificate);
    for (const { registration } of this.registrations.servers) this.#availability.check(registration.name);
  }

  /** Resolves when the stored APIServices are known, so that no request goes to the wrong server. Rejects when closed first. */
  whenSynced(): Promise<void> {
    return this.#feed.whenSynced();
  }

  /** Idempotent. */
  async close(): Promise<void> {
    await this.#feed.close();
    await this.#endpointFeed.close();
    await Promise.all([this.#availability.close(), this.#discovery.close(), this.#openApi.close()]);
    this.registrations.close();
  }

  #set(service: Stored): void {
    const name = nameOf(service);
    this.#services.set(name, service);
    const registration = registrationOf(service);
    const wasRemote = this.registrations.serverOf(name) !== undefined;
    this.registrations.set(registration);
    if (registration.remote === undefined) return wasRemote ? this.#discovery.removed(name) : undefined;
    void this.#whenEndpointsKnown();
    if (!wasRemote) this.#openApi.added(name);
    else this.#openApi.changed(name);
    this.#discovery.changed(name);
    this.#availability.check(name);
  }

  #delete(name: string): void {
    this.#services.delete(name);
    this.registrations.delete(name);
    this.#discovery.removed(name);
  }

  #replace(services: readonly Stored[]): void {
    const present = new Set(services.map(nameOf));
    for (const name of [...this.#services.keys()]) if (!present.has(name)) this.#delete(name);
    for (const service of services) this.#set(service);
  }

  #onEndpoints(key: string): void {
    for (const { registration, remote } of this.registrations.servers) {
      if (`${remote.service.namespace}/${remote.service.name}` === key) this.#availability.check(registration.name);
    }
  }

  #whenEndpointsKnown(): Promise<void> {
    if (this.#endpointsKnown === undefined) {
      this.#endpointFeed.start();
      this.#endpointsKnown = this.#endpointFeed.whenSynced();
      // The callers that wait handle the rejection of a closed feed.
      this.#endpointsKnown.catch(() => undefined);
    }
    return this.#endpointsKnown;
  }

  #families(): MetricFamily[] {
    const samples = [...this.#services].map(([name, service]) => ({
      labels: { name },
      value: isAvailable(service) ? 0 : 1,
    }));
    const help = 'Gauge of APIServices which are marked as unavailable broken down by APIService name.';
    return [gaugeFamily('aggregator_unavailable_apiservice', help, samples), ...this.#availability.families()];
  }
}

function registrationOf(stored: Stored): ApiRegistration {
  const { group = '', version = '', groupPriorityMinimum = 0, versionPriority = 0 } = stored.spec ?? {};
  const base = { name: nameOf(stored), group, version, groupPriority: groupPriorityMinimum, versionPriority };
  const { service, caBundle = '', insecureSkipTLSVerify = false } = stored.spec ?? ({} as NonNullable<Stored['spec']>);
  if (service === undefined) return { ...base, remote: undefined };
  const { namespace = '', name = '', port = 443 } = service;
  const remote: RemoteApi = {
    service: { namespace, name, port },
    caBundle: caBundle === '' ? undefined : Buffer.from(caBundle, 'base64').toString('utf8'),
    skipsVerification: insecureSkipTLSVerify,
    isAvailable: isAvailable(stored),
  };
  return { ...base, remote };
}

function nameOf({ metadata }: DeepReadonly<KubernetesObject>): string {
  return metadata?.name ?? '';
}
