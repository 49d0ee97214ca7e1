// BuiltinKind: the rules that the folder of a resource defines. builtin-resource.ts adds the facts.
import type { Clock, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { Authorizer, ResourceStore } from '@kapstan/apiserver';
import type { ServerCapabilities, TypedKind } from '@kapstan/apiserver/internal';
import type { NodePortRange, NodePortRegistry } from './node-port-registry.ts';
import type { TokenIssuer } from './token-issuer.ts';

/** One built-in resource; `id` is its name in the facts. */
export type BuiltinKind<T extends KubernetesObject = UnstructuredObject> = TypedKind<T>;

/** Services of the server that built-in kinds use. */
export interface BuiltinServer {
  readonly clock: Clock;
  /** Returns the store of another resource; for example, eviction reads disruption budgets. Undefined when it is not served. */
  findStore(group: string, version: string, resource: string): ResourceStore<UnstructuredObject> | undefined;
  /** Returns the plural name of a kind ("v1", "ConfigMap"); undefined when it is not served. */
  resourceOfKind(apiVersion: string, kind: string): string | undefined;
  /** Checks further permissions of a request's user. Undefined = everything is allowed. */
  readonly authorizer: Authorizer | undefined;
  /** For example "10.96.0.0/12". */
  readonly serviceClusterIpRange: string;
  readonly serviceNodePortRange: NodePortRange;
  /** Records the taken node ports. */
  readonly nodePorts: NodePortRegistry;
  /** Returns a number in [0, 1) that decides where the search for a free address or port begins. */
  readonly random: () => number;
  /** Absent = serviceaccounts/token is refused with 501. */
  readonly tokens?: TokenIssuer | undefined;
  readonly capabilities: ServerCapabilities;
  /** Time for which events are kept (`--event-ttl`), in seconds; 0 = forever. */
  readonly eventTtlSeconds: number;
  /** Node address types to try for a kubelet, in order of preference (`--kubelet-preferred-address-types`). */
  readonly kubeletAddressTypes: readonly string[];
  /** Returns the addresses of a host. Rejects as node:dns does. */
  lookupHost(host: string): Promise<readonly string[]>;
}
