// BuiltinKind: what one folder says about its resource. builtin-resource.ts adds the facts.
import type { Clock, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { ResourceStore } from '@kapstan/apiserver';
import type { TypedKind, ValidationPolicy } from '@kapstan/apiserver/internal';
import type { NodePortRange, NodePortRegistry } from './node-port-registry.ts';
import type { TokenIssuer } from './token-issuer.ts';

/** One built-in resource; `id` is as the facts name it. */
export type BuiltinKind<T extends KubernetesObject = UnstructuredObject> = TypedKind<T>;

/** What the built-in kinds need of the server around them. */
export interface BuiltinServer {
  readonly clock: Clock;
  /** Stores of other resources: eviction looks at disruption budgets. Undefined when not served. */
  findStore(group: string, version: string, resource: string): ResourceStore<UnstructuredObject> | undefined;
  /** "10.96.0.0/12" */
  readonly serviceClusterIpRange: string;
  readonly serviceNodePortRange: NodePortRange;
  /** Which of them are taken. */
  readonly nodePorts: NodePortRegistry;
  /** From 0 to 1, 1 excluded: where the search for a free address or port begins. */
  readonly random: () => number;
  /** Absent = serviceaccounts/token is refused with 501. */
  readonly tokens?: TokenIssuer;
  readonly policy: ValidationPolicy;
  /** How long events are kept (`--event-ttl`); 0 = for ever. */
  readonly eventTtlSeconds: number;
  /** Types of addresses under which a kubelet is looked for, the best first (`--kubelet-preferred-address-types`). */
  readonly kubeletAddressTypes: readonly string[];
  /** The addresses of a host. Rejects as node:dns does. */
  lookupHost(host: string): Promise<readonly string[]>;
}
