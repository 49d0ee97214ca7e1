// serviceaccounts/token signs a token for an account, optionally bound to a pod, a secret or a node. Source:
// pkg/registry/core/serviceaccount/storage/token.go (1.36).
import { randomUUID } from 'node:crypto';
import {
  type DeepReadonly,
  formatTime,
  isNotFound,
  type KubernetesObject,
  type UnstructuredObject,
} from '@kapstan/api';
import { badRequest, conflict, invalid, notFound } from '@kapstan/api/errors';
import { parseApiVersion } from '@kapstan/api/internal';
import type { RequestContext } from '@kapstan/apiserver';
import type { ObjectSubresource } from '@kapstan/apiserver/internal';
import { collectFieldErrors } from '@kapstan/apiserver/internal';
import type { BoundObjectReference, TokenRequest, TokenRequestSpec } from '@kapstan/kinds/authentication.k8s.io/v1';
import type { Pod, ServiceAccount } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { kubernetesTypes } from '../../builtin/kubernetes-types.ts';
import type { KubernetesClaims, TokenIssuer, TokenReference } from '../../builtin/token-issuer.ts';

const kind = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' } as const;
const schemaName = 'authentication.v1.TokenRequest';
const defaultSeconds = 3600;
const minSeconds = 600;
const maxSeconds = 2 ** 32;
/**
 * Lifetime that the ServiceAccount plug-in requests. Such a token lives for a year, and its holder is told to renew it
 * in time.
 */
const mountedSeconds = 3607;
const extendedSeconds = 365 * 24 * 3600;

export interface TokenSubresourcePorts extends Pick<BuiltinServer, 'clock' | 'findStore'> {
  readonly tokens: TokenIssuer;
}

export function tokenSubresource(ports: TokenSubresourcePorts): ObjectSubresource<ServiceAccount> {
  return {
    type: 'object',
    name: 'token',
    kind,
    verbs: ['create'],
    schema: kubernetesTypes.schema(schemaName),
    applyDefaults: (request) => setDefaults(request as KubernetesObject as TokenRequest),
    create: async (store, context, { name, body, validate }) => {
      const request = body as KubernetesObject as TokenRequest;
      requireSameNames(request, { name, namespace: context.namespace });
      const account = (await store.get(context, name)).object;
      requireSameUid(request, account);
      const nowMs = ports.clock.now();
      complete(request, account, { nowMs, ...ports.tokens });
      requireValidTime(request);
      await validate();
      const { audiences, expirationSeconds, boundObjectRef } = specOf(request);
      const bound = await boundClaims(ports, context, { account: name, reference: boundObjectRef });
      const issuedAt = Math.floor(nowMs / 1000);
      const isExtended = bound.pod !== undefined && isMounted(expirationSeconds, audiences, ports.tokens);
      const id = randomUUID();
      const token = await ports.tokens.issue({
        id,
        audiences,
        issuedAt,
        expires: issuedAt + (isExtended ? extendedSeconds : expirationSeconds),
        kubernetes: {
          namespace: context.namespace,
          serviceaccount: referenceTo(account),
          ...bound,
          ...(isExtended ? { warnafter: issuedAt + expirationSeconds } : {}),
        },
      });
      context.annotate?.('authentication.kubernetes.io/issued-credential-id', `JTI=${id}`);
      const status = { token, expirationTimestamp: formatTime(nowMs + expirationSeconds * 1000) };
      return { ...request, status };
    },
  };
}

/** Throws 422 when the body names another account. */
function requireSameNames(
  { metadata = {} }: TokenRequest,
  url: { readonly name: string; readonly namespace: string },
): void {
  const errors = collectFieldErrors((root) => {
    const at = root.child('metadata');
    if (metadata.name && metadata.name !== url.name) {
      at.child('name').invalid(metadata.name, 'must match the service account name if specified');
    } else if (metadata.namespace && metadata.namespace !== url.namespace) {
      at.child('namespace').invalid(metadata.namespace, 'must match the service account namespace if specified');
    }
  });
  if (errors.length > 0) throw invalid(kind, url.name, errors);
}

/** Throws 409 when the body names another account of the same name. */
function requireSameUid({ metadata = {} }: TokenRequest, account: DeepReadonly<ServiceAccount>): void {
  const { name = '', uid = '' } = account.metadata ?? {};
  if (!metadata.uid || metadata.uid === uid) return;
  const why = `the UID in the token request (${metadata.uid}) does not match the UID of the service account (${uid})`;
  throw conflict({ group: kind.group, resource: kind.kind }, name, why);
}

function setDefaults(request: TokenRequest): void {
  kubernetesTypes.normalize(schemaName, request as unknown as Record<string, unknown>);
  if (request.spec !== undefined) request.spec.expirationSeconds ??= defaultSeconds;
}

/** Fills in the parts that the client may leave out, so that validating admission sees the signed content. */
function complete(
  request: TokenRequest,
  { metadata: account = {} }: DeepReadonly<ServiceAccount>,
  { nowMs, apiAudiences }: { readonly nowMs: number; readonly apiAudiences: readonly string[] },
): void {
  const { name = '', namespace = '', uid = '' } = account;
  request.metadata = { ...request.metadata, name, namespace, uid, creationTimestamp: formatTime(nowMs) };
  delete request.status;
  const spec = request.spec ?? ({} as TokenRequestSpec);
  request.spec = spec;
  setDefaults(request);
  if ((spec.audiences ?? []).length === 0) spec.audiences = [...apiAudiences];
}

/** Throws 422. */
function requireValidTime(request: TokenRequest): void {
  const { expirationSeconds } = specOf(request);
  const errors = collectFieldErrors((root) => {
    const at = root.child('spec', 'expirationSeconds');
    if (expirationSeconds < minSeconds)
      at.invalid(expirationSeconds, 'may not specify a duration less than 10 minutes');
    if (expirationSeconds > maxSeconds)
      at.invalid(expirationSeconds, 'may not specify a duration larger than 2^32 seconds');
  });
  if (errors.length > 0) throw invalid(kind, '', errors);
}

interface CompleteSpec {
  readonly audiences: string[];
  readonly expirationSeconds: number;
  readonly boundObjectRef: BoundObjectReference | undefined;
}

function specOf({ spec }: TokenRequest): CompleteSpec {
  const { audiences, expirationSeconds, boundObjectRef }: Partial<TokenRequestSpec> = spec ?? {};
  return {
    audiences: audiences ?? [],
    expirationSeconds: Number(expirationSeconds ?? defaultSeconds),
    boundObjectRef: boundObjectRef ?? undefined,
  };
}

function isMounted(seconds: number, audiences: readonly string[], { apiAudiences }: TokenIssuer): boolean {
  return seconds === mountedSeconds && audiences.every((audience) => apiAudiences.includes(audience));
}

type BoundClaims = Pick<KubernetesClaims, 'pod' | 'secret' | 'node'>;
const boundResources: ReadonlyMap<string, string> = new Map([
  ['Pod', 'pods'],
  ['Secret', 'secrets'],
  ['Node', 'nodes'],
]);

/**
 * Throws 404 when the object does not exist, 409 when another one has its name, 400 when the token cannot be bound to
 * it.
 */
async function boundClaims(
  ports: TokenSubresourcePorts,
  context: RequestContext,
  { account, reference }: { readonly account: string; readonly reference: BoundObjectReference | undefined },
): Promise<BoundClaims> {
  if (reference === undefined) return {};
  const { apiVersion = '', kind: boundKind = '', name = '', uid } = reference;
  const { group, version } = versionOf(apiVersion);
  const resource = group === '' ? boundResources.get(boundKind) : undefined;
  if (resource === undefined) {
    const shown = `${group}/${version}, Kind=${boundKind}`;
    throw badRequest(`cannot bind token to object of type ${shown}`);
  }
  const object = await read(ports, context, { resource, name });
  const pod = resource === 'pods' ? (object as DeepReadonly<KubernetesObject> as DeepReadonly<Pod>) : undefined;
  if (pod !== undefined && (pod.spec?.serviceAccountName ?? '') !== account) {
    const who = JSON.stringify(account);
    throw badRequest(`cannot bind token for serviceaccount ${who} to pod running with different serviceaccount name.`);
  }
  const found = referenceTo(object);
  if (uid && uid !== found.uid) {
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group, resource: boundKind }, name, why);
  }
  if (pod !== undefined) return { pod: found, ...(await nodeClaim(ports, context, pod.spec?.nodeName ?? '')) };
  return resource === 'secrets' ? { secret: found } : { node: found };
}

/** A missing node is named without its uid. */
async function nodeClaim(
  ports: TokenSubresourcePorts,
  context: RequestContext,
  name: string,
): Promise<Pick<KubernetesClaims, 'node'>> {
  if (name === '') return {};
  try {
    return { node: referenceTo(await read(ports, context, { resource: 'nodes', name })) };
  } catch (error) {
    if (isNotFound(error)) return { node: { name, uid: '' } };
    throw error;
  }
}

async function read(
  { findStore }: TokenSubresourcePorts,
  context: RequestContext,
  { resource, name }: { readonly resource: string; readonly name: string },
): Promise<DeepReadonly<UnstructuredObject>> {
  const store = findStore('', 'v1', resource);
  if (store === undefined) throw notFound({ group: '', resource }, name);
  const namespace = resource === 'nodes' ? '' : context.namespace;
  return (await store.get({ ...context, namespace }, name)).object;
}

function referenceTo({ metadata }: DeepReadonly<KubernetesObject>): TokenReference {
  return { name: metadata?.name ?? '', uid: metadata?.uid ?? '' };
}

/** Text that is not a version names no type to bind to. */
function versionOf(apiVersion: string): { readonly group: string; readonly version: string } {
  return apiVersion.split('/').length > 2 ? { group: apiVersion, version: '' } : parseApiVersion(apiVersion);
}
