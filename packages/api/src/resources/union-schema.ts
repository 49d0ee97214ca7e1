// Turns alternatives that have types into one structural schema: the types once, outside, and the rest as limits inside. Used by
// structural-schema.ts. Source: the rules of structural schemas, where `anyOf` and `oneOf` hold no types.

type Schema = Readonly<Record<string, unknown>>;

interface Union {
  readonly word: 'anyOf' | 'oneOf';
  readonly path: string;
}

/** Takes structural schemas; `{ type: 'null' }` is the alternative null. Throws TypeError for alternatives of several types. */
export function unionSchema(alternatives: readonly Schema[], union: Union): Schema {
  const branches = distinct(alternatives.filter(({ type }) => type !== 'null'));
  const isNullable =
    branches.length < distinct(alternatives).length || branches.some(({ nullable }) => nullable === true);
  const united = branches.length === 1 ? (branches[0] as Schema) : unionOf(branches, union);
  if (!isNullable) return united;
  const values = Array.isArray(united.enum) ? { enum: [...new Set([...united.enum, null])] } : {};
  return { ...united, ...values, nullable: true };
}

function unionOf(branches: readonly Schema[], union: Union): Schema {
  const types = [...new Set(branches.map(({ type }) => type))];
  if (types.length === 2 && types.includes('integer') && types.includes('string')) return intOrString(branches, union);
  if (types.length === 2 && types.includes('integer') && types.includes('number'))
    return withLimits({ type: 'number' }, branches, union);
  const [type] = types;
  if (types.length !== 1 || type === undefined)
    throw refusal(union, `alternatives of several types (${types.map(String).join(', ')}) cannot be expressed`);
  if (type === 'object') return objects(branches, union);
  if (type === 'array') return arrays(branches, union);
  if (branches.every(isEnum))
    return { type, enum: [...new Set(branches.flatMap((branch) => branch.enum as unknown[]))] };
  return withLimits({ type }, branches, union);
}

const isEnum = (schema: Schema): boolean =>
  Array.isArray(schema.enum) &&
  Object.keys(schema).every((word) => ['type', 'enum', 'title', 'description'].includes(word));

/** Kubernetes has a separate type for this pair, which can have no limits. The limits of safe integers are implied. */
function intOrString(branches: readonly Schema[], union: Union): Schema {
  const bounds: Readonly<Record<string, number>> = {
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
  };
  const isPlain = branches.every((branch) =>
    Object.entries(branch).every(
      ([word, value]) => ['type', 'title', 'description'].includes(word) || bounds[word] === value,
    ),
  );
  if (!isPlain)
    throw refusal(
      union,
      'limits of an integer or string cannot be expressed; a rule (x-kubernetes-validations) can say them',
    );
  return { 'x-kubernetes-int-or-string': true };
}

function objects(branches: readonly Schema[], union: Union): Schema {
  const names = [...new Set(branches.flatMap((branch) => Object.keys(propertiesOf(branch))))];
  const properties = names.map((name) => {
    const schemas = branches.flatMap((branch) =>
      Object.hasOwn(propertiesOf(branch), name) ? [propertiesOf(branch)[name] as Schema] : [],
    );
    return [name, unionSchema(schemas, { ...union, path: `${union.path}.${name}` })] as const;
  });
  const values = distinct(
    branches.flatMap(({ additionalProperties }) =>
      additionalProperties === undefined ? [] : [additionalProperties as Schema],
    ),
  );
  if (values.length > 1 || (values.length === 1 && names.length > 0))
    throw refusal(union, 'alternatives with other properties than the named ones cannot be expressed');
  const required = names.filter((name) => branches.every((branch) => requiredOf(branch).includes(name)));
  const unknown = branches.some((branch) => branch['x-kubernetes-preserve-unknown-fields'] === true);
  const outer = {
    type: 'object',
    ...(names.length > 0 ? { properties: Object.fromEntries(properties) } : {}),
    ...(values.length > 0 ? { additionalProperties: values[0] } : {}),
    ...(required.length > 0 ? { required } : {}),
    ...(unknown ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
  };
  return withLimits(outer, branches, union);
}

function arrays(branches: readonly Schema[], union: Union): Schema {
  const items = branches.flatMap((branch) => (branch.items === undefined ? [] : [branch.items as Schema]));
  return withLimits(
    { type: 'array', items: unionSchema(items, { ...union, path: `${union.path}[]` }) },
    branches,
    union,
  );
}

function propertiesOf(schema: Schema): Readonly<Record<string, unknown>> {
  return (schema.properties ?? {}) as Readonly<Record<string, unknown>>;
}

const requiredOf = (schema: Schema): readonly string[] => (schema.required ?? []) as readonly string[];

function distinct(schemas: readonly Schema[]): readonly Schema[] {
  return [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
}

/** An alternative without limits allows all, and then the others limit nothing either. */
function withLimits(outer: Schema, branches: readonly Schema[], union: Union): Schema {
  const limits = branches.map((branch) => limitsOf(branch, union));
  return limits.some((limit) => Object.keys(limit).length === 0) ? outer : { ...outer, [union.word]: limits };
}

/** Keywords that a structural schema may have only outside of alternatives. Documentation inside them has no reader. */
const outside = [
  'type',
  'nullable',
  'title',
  'description',
  'additionalProperties',
  'example',
  'x-kubernetes-preserve-unknown-fields',
];

/** Returns the demands of a schema on a value besides its types. */
function limitsOf(schema: Schema, union: Union): Schema {
  const limits = Object.entries(schema).map(([word, value]) => [word, limitOf(word, value, union)] as const);
  return Object.fromEntries(limits.filter(([, limit]) => limit !== undefined));
}

/** Returns undefined for a word that limits nothing. */
function limitOf(word: string, value: unknown, union: Union): unknown {
  if (outside.includes(word)) return undefined;
  if (word === 'default' || word.startsWith('x-'))
    throw refusal(union, `${word} in one of several alternatives cannot be expressed`);
  if (word === 'properties') return unlessEmpty(limitsOfProperties(value as Readonly<Record<string, Schema>>, union));
  if (word === 'items') return unlessEmpty(limitsOf(value as Schema, { ...union, path: `${union.path}[]` }));
  return value;
}

const unlessEmpty = (schema: Schema): Schema | undefined => (Object.keys(schema).length === 0 ? undefined : schema);

function limitsOfProperties(properties: Readonly<Record<string, Schema>>, union: Union): Schema {
  const limits = Object.entries(properties).map(
    ([name, property]) => [name, limitsOf(property, { ...union, path: `${union.path}.${name}` })] as const,
  );
  return Object.fromEntries(limits.filter(([, limit]) => Object.keys(limit).length > 0));
}

function refusal({ path }: Union, why: string): TypeError {
  return new TypeError(`${path}: ${why}`);
}
