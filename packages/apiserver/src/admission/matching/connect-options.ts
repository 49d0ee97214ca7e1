// The schema of the options of a connection (exec, proxy), which have the types of a query instead of their own kind. Used by
// changed-object.ts.
import type { GroupVersionKind } from '@kapstan/api/internal';
import type { Connecter, QueryOptionTypes } from '../../registry/definition/resource-definition.ts';
import type { SchemaNode } from '../../schema/node/schema-node.ts';

const text: SchemaNode = { type: 'string' };
const integer: SchemaNode = { type: 'integer', format: 'int64' };

const nodes: Readonly<Record<QueryOptionTypes[string], SchemaNode>> = {
  string: text,
  strings: { type: 'array', items: text },
  boolean: { type: 'boolean' },
  integer,
  numbers: { type: 'array', items: { type: 'integer', format: 'int32' } },
  time: text,
};

/** `types`: the kinds that an object may name by mistake. */
export function connectOptionsSchema(
  { queryOptions, takesPath }: Pick<Connecter<never>, 'queryOptions' | 'takesPath'>,
  { version, kind }: GroupVersionKind,
  types: SchemaNode['types'],
): SchemaNode {
  const options = Object.entries(queryOptions).map(([name, type]) => [name, nodes[type]] as const);
  const path = takesPath ? ([['path', text]] as const) : [];
  const properties = new Map<string, SchemaNode>([['kind', text], ['apiVersion', text], ...options, ...path]);
  return { type: 'object', goType: `${version}.${kind}`, types, properties };
}
