// ObjectPatching: the registry's port over patch/ and fieldmanager/, which it does not know. One serves all resources of a
// server, over HTTP and in process.
import { notFound } from '@kapstan/api/errors';
import { applyMediaType, createApplier } from './fieldmanager/apply-request.ts';
import type { FieldManager } from './fieldmanager/field-manager.ts';
import { createPatcher, patchMediaTypes, patchTypesOf } from './patch/apply-patch.ts';
import type { ObjectPatching } from './registry/client/object-writes.ts';
import { unknownBodyFormat } from './registry/definition/route-errors.ts';

/** `fieldManager` is the one that the stores track managed fields with. */
export function objectPatching(fieldManager: FieldManager): ObjectPatching {
  return {
    prepare: ({ type, body, force, readYaml }, call) => {
      const { definition, context, name, kind, schema } = call;
      if (type === 'apply') return createApplier(fieldManager, body, { ...call, force, ...(readYaml && { readYaml }) });
      const types = patchTypesOf(definition);
      if (!types.includes(type))
        throw unknownBodyFormat([...types.map((known) => patchMediaTypes[known]), applyMediaType]);
      const { fieldValidation } = context;
      const warn = (text: string): void => context.warn(text);
      const patcher = createPatcher({ type, body }, { schema, gvk: kind, fieldValidation, warn });
      return (present) => {
        if (present === undefined) throw notFound(definition, name);
        return patcher(present);
      };
    },
  };
}
