// Implements ObjectPatching, a port of the registry, with patch/ and fieldmanager/, which the registry does not import. One instance serves
// all resources of a server, over HTTP and in process.
import { notFound } from '@kapstan/api/errors';
import { applyMediaType, createApplier } from './fieldmanager/apply-request.ts';
import type { FieldManager } from './fieldmanager/field-manager.ts';
import { createPatcher, patchMediaTypes, patchTypesOf } from './patch/apply-patch.ts';
import type { ObjectPatching } from './registry/client/object-writes.ts';
import { unknownBodyFormat } from './registry/definition/route-errors.ts';

/** Creates the port. The stores of the server must track managed fields with the same `fieldManager`. */
export function objectPatching(fieldManager: FieldManager): ObjectPatching {
  return {
    prepare: ({ type, body, force, readYaml }, call) => {
      const { definition, context, name, kind, schema } = call;
      if (type === 'apply') return createApplier(fieldManager, body, { ...call, force, readYaml });
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
