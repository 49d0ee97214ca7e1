// Writes src/generated/<group>/<version>.ts from facts/: the types of every kind and a value for every resource. Run it
// by hand after a change of facts/: node packages/kinds/scripts/generate-kinds.mjs
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);
const facts = (name) => JSON.parse(readFileSync(new URL(`facts/${name}.json`, root), 'utf8'));
const schemas = facts('schemas');
const discovery = facts('discovery');

/** Definitions whose type is not an object with their fields. */
const handWritten = {
  'machinery/util.intstr.IntOrString': 'number | string',
  'machinery/api.resource.Quantity': 'string | number',
  'machinery/runtime.RawExtension': 'Record<string, unknown>',
  'meta/v1.Time': 'string',
  'meta/v1.MicroTime': 'string',
  'meta/v1.FieldsV1': 'Record<string, unknown>',
  'crd/apiextensions.v1.JSON': 'unknown',
  'crd/apiextensions.v1.JSONSchemaPropsOrArray': 'JSONSchemaProps | JSONSchemaProps[]',
  'crd/apiextensions.v1.JSONSchemaPropsOrBool': 'JSONSchemaProps | boolean',
  'crd/apiextensions.v1.JSONSchemaPropsOrStringArray': 'JSONSchemaProps | string[]',
};
/** Definitions that @kapstan/api has. */
const fromApi = {
  'meta/v1.ObjectMeta': 'ObjectMeta',
  'meta/v1.ListMeta': 'ListMeta',
  'meta/v1.OwnerReference': 'OwnerReference',
};

const skipped = (name) => name in fromApi || (/List$/.test(name) && name in listDefinitions);
const listDefinitions = Object.fromEntries(
  Object.entries(schemas.kinds)
    .filter(([kind]) => kind.endsWith('List'))
    .map(([, name]) => [name, true]),
);
const packageOf = (name) => name.slice(0, name.lastIndexOf('.'));
const shortName = (name) => name.slice(name.lastIndexOf('.') + 1);

// "rbac.v1" → "rbac.authorization.k8s.io/v1"
const pathOfPackage = {
  'meta/v1': 'meta/v1',
  'machinery/util.intstr': 'meta/v1',
  'machinery/api.resource': 'meta/v1',
  'machinery/runtime': 'meta/v1',
  'machinery/version': 'meta/v1',
};
for (const [kind, name] of Object.entries(schemas.kinds)) {
  const groupVersion = kind.slice(0, kind.lastIndexOf('/'));
  const path = groupVersion.includes('/') ? groupVersion : `core/${groupVersion}`;
  if (!(packageOf(name) in pathOfPackage)) pathOfPackage[packageOf(name)] = path;
}

const files = new Map();
for (const name of Object.keys(schemas.definitions).sort()) {
  if (skipped(name)) continue;
  const path = pathOfPackage[packageOf(name)];
  if (path === undefined) throw new Error(`no group version for ${name}`);
  if (!files.has(path)) files.set(path, { definitions: [], resources: [] });
  files.get(path).definitions.push(name);
}
for (const [id, resource] of Object.entries(discovery.resources)) {
  const parts = id.split('/');
  const [group, version, plural] = parts.length === 3 ? parts : ['', ...parts];
  const file = files.get(`${group || 'core'}/${version}`);
  file.resources.push({
    group,
    version,
    plural,
    kind: resource.kind,
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
  });
}

const reserved = /^[A-Za-z_$][\w$]*$/;
const propertyName = (name) => (reserved.test(name) ? name : JSON.stringify(name));

function typeOf(node, use) {
  if (typeof node.$ref === 'string') return use(node.$ref);
  if (node.enum) return node.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (node.items) {
    const item = typeOf(node.items, use);
    return item.includes('|') ? `(${item})[]` : `${item}[]`;
  }
  if (node.additionalProperties) {
    return `Record<string, ${node.additionalProperties === true ? 'unknown' : typeOf(node.additionalProperties, use)}>`;
  }
  if (node.type === 'string' || node.type === 'boolean') return node.type;
  if (node.type === 'integer' || node.type === 'number') return 'number';
  return 'Record<string, unknown>';
}

function isKind(name) {
  const properties = schemas.definitions[name].properties ?? {};
  return properties.metadata?.$ref === 'meta/v1.ObjectMeta' && 'apiVersion' in properties;
}

function interfaceOf(name, use) {
  if (name in handWritten) return `export type ${shortName(name)} = ${handWritten[name]};\n`;
  const definition = schemas.definitions[name];
  const properties = Object.entries(definition.properties ?? {});
  if (properties.length === 0) return `export type ${shortName(name)} = Record<string, unknown>;\n`;
  const own = isKind(name)
    ? properties.filter(([key]) => !['apiVersion', 'kind', 'metadata'].includes(key))
    : properties;
  const extending = isKind(name) ? ' extends KubernetesObject' : '';
  if (isKind(name)) use('KubernetesObject');
  const lines = own.map(
    ([key, node]) => `  ${propertyName(key)}${definition.required?.includes(key) ? '' : '?'}: ${typeOf(node, use)};`,
  );
  return `export interface ${shortName(name)}${extending} {\n${lines.join('\n')}\n}\n`;
}

function fileOf(path, { definitions, resources }) {
  const fromKapstan = new Set();
  const imports = new Map();
  const use = (name) => {
    if (name === 'KubernetesObject' || name === 'Resource') {
      fromKapstan.add(name);
      return name;
    }
    if (name in fromApi) {
      fromKapstan.add(fromApi[name]);
      return fromApi[name];
    }
    const target = pathOfPackage[packageOf(name)];
    const short = shortName(name);
    if (target === path) return short;
    // Two packages may have the same short name (admissionregistration's and the CRDs' ServiceReference do not meet in one file).
    if (!imports.has(target)) imports.set(target, new Set());
    imports.get(target).add(short);
    return short;
  };
  const body = definitions.map((name) => interfaceOf(name, use));
  const constants = resources.map(({ group, version, plural, kind, scope }) => {
    const type = scope === 'Namespaced' ? 'NamespacedResource' : 'Resource';
    fromKapstan.add(type);
    return `export const ${kind}: ${type}<${kind}> = { group: '${group}', version: '${version}', kind: '${kind}', plural: '${plural}', scope: '${scope}' };\n`;
  });
  const head = [`// Generated by scripts/generate-kinds.mjs from facts/ (Kubernetes ${schemas.release}). Do not edit.`];
  if (fromKapstan.size > 0) head.push(`import type { ${[...fromKapstan].sort().join(', ')} } from '@kapstan/api';`);
  for (const [target, names] of [...imports].sort(([a], [b]) => (a < b ? -1 : 1))) {
    head.push(`import type { ${[...names].sort().join(', ')} } from '../${target}.ts';`);
  }
  return `${head.join('\n')}\n\n${body.join('\n')}${constants.length > 0 ? `\n${constants.join('')}` : ''}`;
}

rmSync(new URL('src/generated/', root), { recursive: true, force: true });
for (const [path, file] of files) {
  const target = new URL(`src/generated/${path}.ts`, root);
  mkdirSync(new URL('.', target), { recursive: true });
  writeFileSync(target, fileOf(path, file));
}
