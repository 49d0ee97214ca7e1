// Applies the patch of a mutating webhook to a copy of the object of a request. Used by mutating-webhooks.ts. Source:
// plugin/webhook/mutating callAttrMutatingHook.
import type { KubernetesObject } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { copyInSlices, JsonSyntaxError, type SlicedWork } from '@kapstan/api/internal';
import { applyOperations, JsonPatchFault, type JsonPatchOperation } from '../../patch/json-patch.ts';
import { StrictErrors } from '../../schema/field-validation.ts';
import { readJsonText } from '../../schema/json-reader.ts';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import { DecodeError, decodeTypedInSlices } from '../../schema/typed-decoder.ts';
import { WebhookCallError } from './webhook-failure.ts';

const patchSchema: SchemaNode = {
  type: 'array',
  goType: 'jsonpatch.Patch',
  items: { type: 'object', goType: 'jsonpatch.Operation', additionalProperties: true },
};

/** Returns the operations. Throws WebhookCallError, which is ignored if the failure policy is Ignore. */
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

/** Returns a patched copy. Throws 500 with the text of the operation that does not apply. */
export function* patchedCopy(object: KubernetesObject, operations: readonly JsonPatchOperation[]): SlicedWork<unknown> {
  try {
    return yield* applyOperations(yield* copyInSlices(object), operations);
  } catch (error) {
    throw error instanceof JsonPatchFault ? internalError(error) : error;
  }
}
