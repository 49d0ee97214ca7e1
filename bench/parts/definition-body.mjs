// Returns CustomResourceDefinitions like those of real projects: mostly schemas with described fields, some with rules.

const words = 'Selects the objects that this entry speaks of, in the order in which the controller looks at them. ';

function field(index) {
  const description = `${words.slice(0, 40 + ((index * 7) % 50))}(${index})`;
  switch (index % 6) {
    case 0:
      return { type: 'integer', format: 'int32', minimum: 0, maximum: 65535, description };
    case 1:
      return { type: 'array', items: { type: 'string', maxLength: 63 }, 'x-kubernetes-list-type': 'set', description };
    case 2:
      return { type: 'boolean', default: false, description };
    case 3:
      return { type: 'string', enum: ['Always', 'Never', 'OnFailure'], description };
    case 4:
      return { type: 'object', additionalProperties: { type: 'string' }, description };
    default:
      return { type: 'string', maxLength: 253, pattern: '^[a-z0-9.-]*$', description };
  }
}

function section(index) {
  const properties = {};
  for (let at = 0; at < 10; at++) properties[`field${at}`] = field(index * 10 + at);
  return { type: 'object', description: `${words}(section ${index})`, required: ['field0'], properties };
}

/** Returns a structural schema whose JSON has about the given number of bytes. */
export function schemaOf(bytes) {
  const properties = {};
  for (let index = 0, size = 0; size < bytes; index++) {
    properties[`section${index}`] = section(index);
    size += JSON.stringify(properties[`section${index}`]).length + 14;
  }
  return {
    type: 'object',
    properties: {
      spec: { type: 'object', properties },
      status: { type: 'object', properties: { replicas: { type: 'integer' }, phase: { type: 'string' } } },
    },
  };
}

/** Returns the definition of `things<index>` in one of ten groups. `change(schema)` adds what a benchmark measures. */
export function definitionBody(index, { bytes, change = (schema) => schema }) {
  const [plural, kind, group] = [`things${index}`, `Thing${index}`, `g${index % 10}.example.com`];
  const schema = change(schemaOf(bytes));
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      ...{ group, scope: 'Namespaced', names: { plural, singular: `thing${index}`, kind, listKind: `${kind}List` } },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema }, subresources: { status: {} } },
      ],
    },
  };
}
