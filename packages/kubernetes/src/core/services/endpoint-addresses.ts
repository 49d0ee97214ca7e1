// EndpointAddresses knows the endpoints of Services: their ports, and the ready addresses of their EndpointSlices. A feed keeps it in step;
// it holds only the data for that. The aggregator uses it to resolve Services and to judge whether they can be reached. Source: apiserver
// util/proxy (ResolveEndpoint, NewEndpointSliceIndexerGetter).
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { ServiceAddress, ServiceReference } from '@kapstan/apiserver';
import type { Service } from '@kapstan/kinds/core/v1';
import type { EndpointSlice } from '@kapstan/kinds/discovery.k8s.io/v1';
import { followRoute, routeOf, type ServiceRoute } from './service-route.ts';

type Stored = DeepReadonly<KubernetesObject>;
/** The kinds that {@link EndpointAddresses} follows. */
export type EndpointAddressesKind = 'Service' | 'EndpointSlice';

interface Slice {
  /** Key of the Service to which it belongs. */
  readonly service: string;
  readonly ports: readonly { readonly name: string | undefined; readonly port: number | undefined }[];
  /** First addresses of the endpoints that are ready. */
  readonly ready: readonly string[];
}

const serviceLabel = 'kubernetes.io/service-name';

/** Options of {@link EndpointAddresses}. */
export interface EndpointAddressesOptions {
  /** True = neither cluster addresses nor external names are tried. */
  readonly endpointsOnly: boolean;
  /** Called with the key ("namespace/name") of each Service whose endpoints may have changed. */
  readonly onChange: (key: string) => void;
}

/** The addresses behind Services, from EndpointSlices. */
export class EndpointAddresses {
  readonly #options: EndpointAddressesOptions;
  readonly #routes = new Map<string, ServiceRoute>();
  readonly #slices = new Map<string, Slice>();
  /** Keys of slices, by Service. */
  readonly #byService = new Map<string, Set<string>>();

  constructor(options: EndpointAddressesOptions) {
    this.#options = options;
  }

  set(kind: EndpointAddressesKind, object: Stored): void {
    if (kind === 'EndpointSlice') return this.#setSlice(object as DeepReadonly<EndpointSlice>);
    const key = keyOf(object);
    this.#routes.set(key, routeOf(object as DeepReadonly<Service>));
    this.#options.onChange(key);
  }

  delete(kind: EndpointAddressesKind, object: Stored): void {
    const key = keyOf(object);
    if (kind === 'EndpointSlice') return this.#dropSlice(key);
    this.#routes.delete(key);
    this.#options.onChange(key);
  }

  replace(kind: EndpointAddressesKind, objects: Iterable<Stored>): void {
    const all = [...objects];
    const present = new Set(all.map(keyOf));
    const known = kind === 'Service' ? this.#routes : this.#slices;
    for (const key of [...known.keys()]) {
      if (present.has(key)) continue;
      const [namespace = '', name = ''] = key.split('/');
      this.delete(kind, { metadata: { namespace, name } } as Stored);
    }
    for (const object of all) this.set(kind, object);
  }

  routeOf({ namespace, name }: Omit<ServiceReference, 'port'>): ServiceRoute | undefined {
    return this.#routes.get(`${namespace}/${name}`);
  }

  hasSlices({ namespace, name }: Omit<ServiceReference, 'port'>): boolean {
    return this.#byService.has(`${namespace}/${name}`);
  }

  /** True when a slice with a ready endpoint has the port. */
  isReady(service: Omit<ServiceReference, 'port'>, portName: string): boolean {
    return this.#addressesOf(service, portName).length > 0;
  }

  /** Returns an address behind the Service. Throws when there is none. */
  resolve(service: ServiceReference): ServiceAddress {
    const route = this.routeOf(service);
    if (route === undefined) throw new Error(`service "${service.name}" not found`);
    const addressesOf = (portName: string): readonly ServiceAddress[] => this.#addressesOf(service, portName);
    return followRoute(route, service, { addressesOf, endpointsOnly: this.#options.endpointsOnly });
  }

  #addressesOf({ namespace, name }: Omit<ServiceReference, 'port'>, portName: string): readonly ServiceAddress[] {
    const keys = this.#byService.get(`${namespace}/${name}`) ?? [];
    return [...keys].flatMap((key) => {
      const { ports, ready } = this.#slices.get(key) as Slice;
      const { port } = ports.find((each) => each.name === portName && each.port !== undefined) ?? {};
      return port === undefined ? [] : ready.map((host) => ({ host, port }));
    });
  }

  #setSlice(object: DeepReadonly<EndpointSlice>): void {
    const key = keyOf(object);
    const service = `${object.metadata?.namespace}/${object.metadata?.labels?.[serviceLabel] ?? ''}`;
    const before = this.#slices.get(key);
    if (before !== undefined && before.service !== service) this.#dropSlice(key);
    this.#slices.set(key, {
      service,
      ports: (object.ports ?? []).map(({ name, port }) => ({ name: name ?? '', port: port ?? undefined })),
      ready: (object.endpoints ?? [])
        .filter(({ conditions }) => conditions?.ready !== false)
        .flatMap(({ addresses }) => addresses.slice(0, 1)),
    });
    const keys = this.#byService.get(service);
    if (keys === undefined) this.#byService.set(service, new Set([key]));
    else keys.add(key);
    this.#options.onChange(service);
  }

  #dropSlice(key: string): void {
    const slice = this.#slices.get(key);
    if (slice === undefined) return;
    this.#slices.delete(key);
    const keys = this.#byService.get(slice.service);
    keys?.delete(key);
    if (keys?.size === 0) this.#byService.delete(slice.service);
    this.#options.onChange(slice.service);
  }
}

function keyOf({ metadata }: Stored): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}
