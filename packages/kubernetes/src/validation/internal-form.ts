// The JSON of Kubernetes' internal types, which its error texts show: fields under their Go names, in their order, unset
// ones with their zero values. Used where a rule reports a struct that is not one of meta/v1.
import { getOwn, isJsonObject, setOwn } from '@kapstan/api/internal';
import { internalTypeFacts } from '@kapstan/kinds/facts';

type JsonObject = Readonly<Record<string, unknown>>;

interface InternalField {
  readonly name: string;
  readonly apiName: string;
  readonly type: string;
  /** Pointers, lists and maps around the type, from outside to inside: "p", "l", "ml". */
  readonly shape: string;
  readonly omitsEmpty: boolean;
  /** True = a member of the parent in the API. */
  readonly isParents: boolean;
}

const zeroScalars: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['string', ''],
  ['bool', false],
  ['int', 0],
  ['intOrString', 0],
  ['quantity', '0'],
  ['time', null],
  ['bytes', null],
  ['raw', null],
]);

/** Returns the internal form of a value of the API; `type` is for example "core.PodSpec". An absent value is null. */
export function internalForm(type: string, value: unknown): unknown {
  return isJsonObject(value) ? structForm(type, value, {}) : null;
}

const structs = new Map<string, readonly InternalField[]>();

function fieldsOf(type: string): readonly InternalField[] {
  const known = structs.get(type);
  if (known !== undefined) return known;
  const rows = getOwn(internalTypeFacts(), type) as readonly string[] | undefined;
  if (rows === undefined) throw new TypeError(`no internal type ${type}`);
  const fields = rows.map((row): InternalField => {
    const [name = '', apiName = '', fieldType = '', flags = ''] = row.split(' ');
    const shape = flags.replace(/[ou]/g, '');
    return { name, apiName, type: fieldType, shape, omitsEmpty: flags.includes('o'), isParents: flags.includes('u') };
  });
  structs.set(type, fields);
  return fields;
}

function structForm(type: string, object: JsonObject, parent: JsonObject): Record<string, unknown> {
  const form: Record<string, unknown> = {};
  for (const field of fieldsOf(type)) {
    const value = getOwn(field.isParents ? parent : object, field.apiName) as unknown;
    if (field.name === '+') Object.assign(form, structForm(field.type, isJsonObject(value) ? value : {}, object));
    else if (!field.omitsEmpty || !isEmpty(field, value))
      setOwn(form, field.name, valueForm(field.type, field.shape, { value, parent: object }));
  }
  return form;
}

/** Source: encoding/json isEmptyValue. */
function isEmpty({ shape }: InternalField, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (shape.startsWith('p')) return false;
  if (Array.isArray(value)) return value.length === 0;
  if (isJsonObject(value)) return shape.startsWith('m') && Object.keys(value).length === 0;
  return value === '' || value === 0 || value === false;
}

/** A value with the struct that it is a member of. */
interface Member {
  readonly value: unknown;
  readonly parent: JsonObject;
}

function valueForm(type: string, shape: string, { value, parent }: Member): unknown {
  const inner = shape.slice(1);
  if (shape !== '' && (value === undefined || value === null)) return null;
  if (shape.startsWith('l'))
    return Array.isArray(value) ? value.map((item) => valueForm(type, inner, { value: item, parent })) : value;
  if (shape.startsWith('m')) return isJsonObject(value) ? mapForm(type, inner, { value, parent }) : value;
  if (shape.startsWith('p')) return valueForm(type, inner, { value, parent });
  const zero = zeroScalars.get(type);
  if (zero !== undefined) return value ?? zero;
  return structForm(type, isJsonObject(value) ? value : {}, parent);
}

/** Go writes maps in the order of their keys. */
function mapForm(type: string, shape: string, { value, parent }: Member & { readonly value: JsonObject }): unknown {
  const form: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) setOwn(form, key, valueForm(type, shape, { value: value[key], parent }));
  return form;
}
