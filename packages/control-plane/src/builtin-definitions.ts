// The definitions of the built-in kinds, as this server's options have them, and of the program's own. Called by resources.ts.
import type { Clock } from '@kapstan/api';
import { formatApiVersion } from '@kapstan/api/internal';
import { definitionsId } from '@kapstan/apiextensions';
import type { ResourceCatalog, ResourceDefinition } from '@kapstan/apiserver';
import { type BuiltinServer, builtinFacts, builtinResources } from '@kapstan/kubernetes';
import type { AccessControl } from './access/access-control.ts';
import type { SharedNodePorts } from './kubernetes-service/shared-node-ports.ts';
import { startingWith } from './lifetime/start-error.ts';
import { requireOwnKinds, type ServedNames } from './own-kinds.ts';

export interface BuiltinOptions {
  readonly serviceClusterIpRange?: string | undefined;
  readonly eventTtlSeconds?: number | undefined;
  readonly allowsPrivileged?: boolean | undefined;
  /** Node address types to try when connecting to a kubelet, in order of preference. */
  readonly kubeletAddressTypes?: readonly string[] | undefined;
  /** See ControlPlaneOptions. */
  readonly kinds?: readonly ResourceDefinition[] | undefined;
  readonly clock: Clock;
}

interface BuiltinParts {
  /** The catalog in which built-in kinds find each other, and kinds added later. */
  readonly catalog: ResourceCatalog;
  readonly access: AccessControl;
  readonly nodePorts: SharedNodePorts | undefined;
  /** Resources that are answered but not stored. */
  readonly virtual: readonly ServedNames[];
}

/** Rejects with a StartError for a range of service addresses that cannot be used, and for a kind that cannot be served. */
export async function builtinDefinitions(
  { kinds = [], ...options }: BuiltinOptions,
  parts: BuiltinParts,
): Promise<readonly ResourceDefinition[]> {
  const builtIn = await kubernetesDefinitions(options, parts);
  const served = [...builtIn, ...parts.virtual, builtinFacts(definitionsId).resource];
  await startingWith('kinds', () => requireOwnKinds(kinds, served));
  return [...builtIn, ...kinds];
}

async function kubernetesDefinitions(
  { clock, serviceClusterIpRange, eventTtlSeconds, kubeletAddressTypes, allowsPrivileged = true }: BuiltinOptions,
  { catalog, access, nodePorts }: BuiltinParts,
): Promise<readonly ResourceDefinition[]> {
  // The service address range is the only value that the registry checks.
  return startingWith('serviceClusterIpRange', () =>
    builtinResources({
      clock,
      findStore: (...id) => catalog.find(...id)?.store,
      resourceOfKind: kindFinder(catalog),
      authorizer: access.authorizer,
      tokens: access.serviceAccountTokens,
      capabilities: { allowsPrivileged },
      ...(nodePorts && { nodePorts }),
      ...(serviceClusterIpRange === undefined ? {} : { serviceClusterIpRange }),
      ...(eventTtlSeconds === undefined ? {} : { eventTtlSeconds }),
      ...(kubeletAddressTypes === undefined ? {} : { kubeletAddressTypes }),
    }),
  );
}

function kindFinder(catalog: ResourceCatalog): BuiltinServer['resourceOfKind'] {
  return (apiVersion, kind) =>
    catalog.all().find(({ definition }) => definition.kind === kind && formatApiVersion(definition) === apiVersion)
      ?.definition.resource;
}
