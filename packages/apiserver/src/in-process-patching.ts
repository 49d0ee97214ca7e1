// The patches and applies of the in-process client: the same code as behind HTTP. Between registry/in-process-client.ts,
// which does not know them, and patch/ and fieldmanager/.
import { stringifyJson } from '@kapstan/api';
import type { FieldManager } from './fieldmanager/field-manager.ts';
import { createPatcher } from './patch/apply-patch.ts';
import type { ObjectPatching } from './registry/in-process-client.ts';

/** For `InProcessClientOptions.patching`. `fieldManager` is the one that the stores track managed fields with. */
export function objectPatching(fieldManager: FieldManager): ObjectPatching {
  return {
    patch: (present, { type, body }, { schema, kind, context }) => {
      const request = { type, body: Buffer.from(stringifyJson(body)) };
      const { fieldValidation } = context;
      return createPatcher(request, { schema, gvk: kind, fieldValidation, warn: (text) => context.warn(text) })(
        present,
      );
    },
    apply: (present, applied, call) => fieldManager.apply(present, applied, call),
  };
}
