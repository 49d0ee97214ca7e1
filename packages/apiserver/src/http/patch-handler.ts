// PATCH: JSON patch, merge patch, strategic merge patch, server-side apply. Source: apiserver handlers/patch.go.
import {
  formatApiVersion,
  type KubernetesObject,
  newNotFound,
  newNotImplemented,
  type UnstructuredObject,
} from '@kapstan/api';
import { applyMediaType, createApplier } from '../fieldmanager/apply-request.ts';
import type { PatchRequest } from '../patch/apply-patch.ts';
import { createPatcher, type PatchType, patchMediaTypes } from '../patch/apply-patch.ts';
import type { RequestContext } from '../registry/request-context.ts';
import type { UpdateAnswer, UpdateRequest } from '../registry/resource-store.ts';
import { builtinSchema } from '../schema/builtin-schemas.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import { essenceOf } from './media-type.ts';
import { unknownBodyFormat } from './negotiation.ts';
import { checkObjectName } from './object-name.ts';
import { sendObject, sendStored } from './object-response.ts';
import { contextOf, kindOf, negotiateAnswer, type ResourceCall } from './resource-call.ts';
import { methodNotAllowed, patchTypeNotSupported } from './route-errors.ts';
import { parseWriteOptions } from './write-options.ts';

export async function handlePatch(call: ResourceCall): Promise<void> {
  const { exchange, ports } = call;
  const type = patchTypeOf(call);
  const form = negotiateAnswer(call);
  const body = await exchange.readBody(ports.maxBodyBytes);
  const options = parseWriteOptions(exchange.query, 'PatchOptions', type === 'apply' ? 'apply' : 'other');
  const context = contextOf(call, options);
  const patch =
    type === 'apply' ? applyOf(call, { body, context, force: options.force }) : patchOf(call, { type, body }, context);
  const answer = { definition: call.served.definition, form, clock: ports.clock };
  if (call.subresource?.type === 'object') {
    sendObject(exchange, await patchSubresource(call, context, patch), { ...answer, status: 200 });
    return;
  }
  const result = await patchResource(call, context, patch);
  sendStored(exchange, result.stored, { ...answer, status: result.created ? 201 : 200 });
}

/** How the new object comes from the present one, and what the update needs besides. */
interface Patch {
  /** Throws 404 for a missing object where the patch cannot make one. */
  change(present: UnstructuredObject | undefined): UnstructuredObject;
  readonly request: Pick<UpdateRequest<UnstructuredObject>, 'forceAllowCreate' | 'managedFields'>;
}

function patchOf(call: ResourceCall, patch: PatchRequest, context: RequestContext): Patch {
  const patcher = createPatcher(patch, {
    schema: schemaOf(call),
    gvk: kindOf(call),
    fieldValidation: context.fieldValidation,
    warn: context.warn,
  });
  const change = (present: UnstructuredObject | undefined): UnstructuredObject => {
    if (present === undefined) throw newNotFound(call.served.definition, call.name);
    return patcher(present);
  };
  return { change, request: {} };
}

function applyOf(
  call: ResourceCall,
  apply: { readonly body: Uint8Array; readonly context: RequestContext; readonly force: boolean },
): Patch {
  const { served, subresource, ports } = call;
  const { body, context, force } = apply;
  if (subresource?.type === 'object') {
    throw newNotImplemented(`server-side apply to ${served.definition.resource}/${subresource.name} is not served`);
  }
  const part = subresource?.name ?? '';
  const change = createApplier(ports.fieldManager, body, {
    context,
    definition: served.definition,
    subresource: part,
    force,
  });
  // Subresources never create. Source: the kinds' StatusREST.Update.
  return { change, request: { managedFields: 'given', ...(part === '' ? { forceAllowCreate: true } : {}) } };
}

function patchResource(
  call: ResourceCall,
  context: RequestContext,
  patch: Patch,
): Promise<UpdateAnswer<UnstructuredObject>> {
  const { served, subresource, name } = call;
  const transform = (present: UnstructuredObject | undefined): UnstructuredObject => {
    const next = patch.change(present);
    checkObjectName(next, { name, namespace: context.namespace });
    served.definition.applyDefaults(next);
    return next;
  };
  const part =
    subresource?.type === 'strategy' ? { strategy: subresource.strategy, subresource: subresource.name } : {};
  return served.store.update(context, { name, transform, ...part, ...patch.request });
}

function patchSubresource(call: ResourceCall, context: RequestContext, patch: Patch): Promise<KubernetesObject> {
  const { served, subresource, name } = call;
  if (subresource?.type !== 'object' || subresource.update === undefined) throw methodNotAllowed();
  const change = async (present: UnstructuredObject): Promise<UnstructuredObject> => {
    const next = patch.change(present);
    checkObjectName(next, { name, namespace: context.namespace });
    return next;
  };
  return subresource.update(served.store, context, { name, change });
}

/** Throws 415. Custom resources have no strategic merge patch. */
function patchTypeOf(call: ResourceCall): PatchType | 'apply' {
  const essence = essenceOf(call.exchange.header('content-type') ?? '');
  const isCustom = call.served.definition.isCustom === true;
  if (essence === applyMediaType) return 'apply';
  const types = (Object.keys(patchMediaTypes) as PatchType[]).filter((type) => !isCustom || type !== 'strategic');
  const type = types.find((candidate) => patchMediaTypes[candidate] === essence);
  if (type !== undefined) return type;
  if (!isCustom) throw patchTypeNotSupported();
  throw unknownBodyFormat([...types.map((candidate) => patchMediaTypes[candidate]), applyMediaType]);
}

function schemaOf(call: ResourceCall): SchemaNode {
  if (call.subresource?.type !== 'object') return call.served.definition.schema;
  const kind = call.subresource.kind;
  return call.subresource.schema ?? builtinSchema(formatApiVersion(kind), kind.kind) ?? { preserveUnknownFields: true };
}
