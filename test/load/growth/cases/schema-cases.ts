// Cases of every list, map and text of every built-in kind: created, and put in the place of a stored object's field or
// status. Most of these objects are invalid somewhere, which is intended: reporting errors must be fast too.
import { type GrowthCase, type GrowthRequest, usualCodes } from '../growth-case.ts';
import { fieldsOf, type SchemaField, schemaResources, statusFieldsOf } from './schema-fields.ts';
import { fullOf, grown, withValue } from './schema-values.ts';
import { type StoredObject, storedObject } from './stored-objects.ts';

/** Fields that are compared with the path before anything is validated. */
const namedInPath: readonly string[] = ['apiVersion', 'kind', 'metadata.name', 'metadata.namespace'];

const updatable = schemaResources.filter(({ hasUpdate }) => hasUpdate);

export const schemaCases: readonly GrowthCase[] = [
  ...fieldsOf(schemaResources).map((field) => created(field)),
  ...fieldsOf(updatable).map((field) => updated(field, '')),
  ...statusFieldsOf(updatable).map((field) => updated(field, '/status')),
];

/** Texts of which validation has rules: characters that begin, end or part something, and such as are escaped. */
export const fillers: readonly string[] = [
  ...['-', 'a.', '/', '1-2,', 'a=', '%', '"', '\\', '[', '(', ' ', ':', '0', 'A-', '+', '*', '..', '$(', '\n', 'ä'],
  ...['{', '1.', '0.0.0.0/', '1h', '_', '@', '-----BEGIN CERTIFICATE-----\n'],
];

/** Returns the case of a text field with texts of other characters than x. */
export const filledCases = (filler: string): GrowthCase[] =>
  fieldsOf(schemaResources)
    .filter(({ shape, item }) => shape === 'text' && item.format !== 'byte')
    .map((field) => created(field, filler));

function created(field: SchemaField, filler = 'x'): GrowthCase {
  const { name, shape, resource, way } = field;
  const { path, head } = resource;
  return {
    name: `${shape} of ${name}${filler === 'x' ? '' : ` of ${JSON.stringify(filler)}`}`,
    full: fullOf(field),
    request: (n) => {
      // A TokenReview without a token is refused before anything else is looked at.
      const object = {
        ...head,
        metadata: { name: 'growth' },
        ...(head.kind === 'TokenReview' && { spec: { token: 'x' } }),
      };
      return { method: 'POST', path, body: withValue(object, way, grown(field, n, filler)) };
    },
    made: [`${path}/growth`],
    tags: ['schema'],
    ...codesOf(way),
  };
}

/** The object is sent as a merge patch, since many kinds refuse an update that names no version. */
function updated(field: SchemaField, subresource: '' | '/status'): GrowthCase {
  const { name, shape, resource, way } = field;
  const stored = storedObject(resource);
  let object = stored;
  const path = () => `${resource.path}/${object.metadata.name}`;
  return {
    name: `${shape} of ${name}, updated`,
    full: fullOf(field),
    prepare: (): readonly GrowthRequest[] => {
      object = freshOf(stored);
      return [{ method: 'POST', path: resource.path, body: object, isAwaited: true }];
    },
    request: (n) => ({
      ...{ method: 'PATCH', path: `${path()}${subresource}`, contentType: 'application/merge-patch+json' },
      body: withValue(object, way, grown(field, n)),
    }),
    get made(): readonly string[] {
      return [path()];
    },
    tags: ['schema'],
    ...codesOf(way),
  };
}

let namespaces = 0;

/** Returns the object; a namespace under another name, since a deleted one stays where no control loop finalizes it. */
function freshOf(object: StoredObject): StoredObject {
  return object.kind === 'Namespace' ? { ...object, metadata: { name: `growth-${namespaces++}` } } : object;
}

function codesOf(way: SchemaField['way']): Pick<GrowthCase, 'codes'> {
  const path = way.join('.');
  if (namedInPath.includes(path)) return { codes: [400, 413, 422] };
  // A name with a slash cannot be asked for, which kube-apiserver answers with 500, too.
  if (path.endsWith('runtimeClassName')) return { codes: [...usualCodes, 500] };
  return {};
}
