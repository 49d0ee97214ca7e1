// The resources that a server offers without any definition: one BuiltinKind each, in the order of discovery.
import { systemClock, type UnstructuredObject } from '@kapstan/api';
import { discoveryFacts } from '@kapstan/kinds/facts';
import type { BuiltinKind, BuiltinServer } from './builtin-kind.ts';
import { defineBuiltin } from './builtin-resource.ts';
import type { ResourceDefinition } from './resource-definition.ts';

/** Answered by handlers of their own, not from storage; custom resource definitions are crd/'s. */
const notServed: ReadonlySet<string> = new Set([
  'v1/bindings',
  'v1/componentstatuses',
  'authentication.k8s.io/v1/selfsubjectreviews',
  'authentication.k8s.io/v1/tokenreviews',
  'authorization.k8s.io/v1/localsubjectaccessreviews',
  'authorization.k8s.io/v1/selfsubjectaccessreviews',
  'authorization.k8s.io/v1/selfsubjectrulesreviews',
  'authorization.k8s.io/v1/subjectaccessreviews',
  'apiextensions.k8s.io/v1/customresourcedefinitions',
]);

const defaultServer: BuiltinServer = {
  clock: systemClock,
  findStore: () => undefined,
  serviceClusterIpRange: '10.96.0.0/12',
  serviceNodePortRange: { first: 30_000, last: 32_767 },
};

/**
 * Definitions of all built-in resources that Kubernetes 1.36 serves by default and keeps in storage. Their allocators
 * hold state: make them once a server.
 */
export function builtinResources(server: Partial<BuiltinServer> = {}): ResourceDefinition<UnstructuredObject>[] {
  const kinds = new Map(builtinKinds({ ...defaultServer, ...server }).map((kind) => [kind.id, kind]));
  return Object.entries(discoveryFacts().resources)
    .filter(([id, facts]) => facts.optIn !== true && !notServed.has(id))
    .map(([id]) => defineBuiltin(kinds.get(id) ?? { id }));
}

/** A kind's object type is its own business: the server handles all alike. */
function builtinKinds(_server: BuiltinServer): BuiltinKind<never>[] {
  return [];
}
