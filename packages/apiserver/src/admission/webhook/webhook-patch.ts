// Applies the patch of a mutating webhook to the object of a request, and brings the result into the form of its kind.
// Used by mutating-webhooks.ts. Source: plugin/webhook/mutating callAttrMutatingHook.
import { type KubernetesObject, StatusError } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import {
  copyInSlices,
  formatApiVersion,
  type GroupVersionKind,
  JsonSyntaxError,
  type SlicedWork,
} from '@kapstan/api/internal';
import { applyOperations, JsonPatchFault, type JsonPatchOperation } from '../../patch/json-patch.ts';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import { decodeDocumentInSlices, interpretKind } from '../../schema/decode-object.ts';
import { StrictErrors } from '../../schema/field-validation.ts';
import { readJsonText } from '../../schema/json-reader.ts';
import { metaTypes } from '../../schema/meta-types.ts';
import type { SchemaNode } from '../../schema/schema-node.ts';
import { DecodeError, decodeTypedInSlices } from '../../schema/typed-decoder.ts';
import { WebhookCallError } from './webhook-failure.ts';

const patchSchema: SchemaNode = {
  type: 'array',
  goType: 'jsonpatch.Patch',
  items: { type: 'object', goType: 'jsonpatch.Operation', additionalProperties: true },
};

/** Returns the operations. Throws WebhookCallError, which the failure policy may pass over. */
export function* readWebhookPatch(webhook: string, base64: string): SlicedWork<readonly JsonPatchOperation[]> {
  try {
    const { value, repeats } = yield* readJsonText(Buffer.from(base64, 'base64').toString('utf8'));
    const options = { schema: patchSchema, strict: new StrictErrors(), repeats, words: 'json' } as const;
    return ((yield* decodeTypedInSlices(value, options)) ?? []) as readonly JsonPatchOperation[];
  } catch (error) {
    if (!(error instanceof JsonSyntaxError) && !(error instanceof DecodeError)) throw error;
    const why = `received undecodable patch in webhook response: ${error.message}`;
    throw new WebhookCallError(webhook, { why, code: 503, cause: error });
  }
}

/** What a patched object must be again. */
export interface PatchedKind {
  readonly kind: GroupVersionKind;
  readonly definition: ResourceDefinition | undefined;
  /** "" = the object itself. */
  readonly subresource: string;
}

/** Returns a patched copy. Throws 500 with the text of the operation that does not apply. */
export function* patchedCopy(object: KubernetesObject, operations: readonly JsonPatchOperation[]): SlicedWork<unknown> {
  try {
    return yield* applyOperations(yield* copyInSlices(object), operations);
  } catch (error) {
    throw error instanceof JsonPatchFault ? internalError(error) : error;
  }
}

/** Decodes a changed object into its kind and sets defaults. Throws 500 for what is not of the kind. */
export function* changedObject(value: unknown, of: PatchedKind): SlicedWork<KubernetesObject> {
  const { kind, definition } = of;
  const part = definition?.subresources.find(({ name }) => name === of.subresource);
  const schema = part?.type === 'object' ? partSchema(part.schema, of) : definition?.schema;
  try {
    const gvk = interpretKind(value, kind);
    if (definition?.isCustom === true && part?.type !== 'object') requireVersion(gvk, kind);
    const decoding = {
      schema: schema ?? { preserveUnknownFields: true },
      gvk,
      expected: kind,
      strict: new StrictErrors(),
    };
    const object = yield* decodeDocumentInSlices({ value, repeats: new Map() }, decoding);
    if (formatApiVersion(gvk) !== formatApiVersion(kind)) throw otherVersion(gvk, kind);
    if (part?.type === 'object' || definition === undefined) return object;
    if (definition.applyDefaultsInSlices === undefined) definition.applyDefaults(object);
    else yield* definition.applyDefaultsInSlices(object);
    return object;
  } catch (error) {
    throw error instanceof DecodeError ? wrongKind(error) : error;
  }
}

function partSchema(schema: SchemaNode | undefined, { kind, definition }: PatchedKind): SchemaNode | undefined {
  const types = definition?.schema.types ?? metaTypes;
  return schema ?? types.schemaOfKind(formatApiVersion(kind), kind.kind);
}

/** Source: apiextensions-apiserver crConverter.Convert. */
function requireVersion(said: GroupVersionKind, expected: GroupVersionKind): void {
  const [is, must] = [formatApiVersion(said), formatApiVersion(expected)];
  if (is === must) return;
  const message = `request to convert CR from an invalid group/version: ${is}`;
  throw new StatusError({ code: 500, reason: '', message });
}

/** kube-apiserver converts such an object; here its fields would be taken for those of the version of the request. */
function otherVersion(said: GroupVersionKind, expected: GroupVersionKind): StatusError {
  const versions = `from ${formatApiVersion(expected)} to ${formatApiVersion(said)}`;
  return internalError(new Error(`an admission webhook changed the version of the object ${versions}`));
}

/** A known kind that is another one is found later than an unknown one, and gets an error without a reason. */
function wrongKind(error: DecodeError): StatusError {
  const { message } = error;
  if (!message.startsWith('converting (')) return internalError(error);
  return new StatusError({ code: 500, reason: '', message }, { cause: error });
}
