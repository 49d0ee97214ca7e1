// Rules for environment variables. Source: pkg/apis/core/validation ValidateEnv, validateEnvVarValueFrom.
import { type DeepReadonly, qualifiedNameErrors } from '@kapstan/api';
import type { EnvFromSource, EnvVar, EnvVarSource, ObjectFieldSelector } from '@kapstan/kinds/core/v1';
import type { Field } from '../../validation/field.ts';
import { configKeyErrors, envNameErrors } from '../../validation/value-rules.ts';

export function validateEnv(at: Field, env: readonly DeepReadonly<EnvVar>[] | undefined): void {
  at.each(env, (variable, place) => {
    if (variable.name === '') place.child('name').required();
    else place.child('name').invalidAll(variable.name, envNameErrors(variable.name));
    if (variable.valueFrom !== undefined)
      validateSource(place.child('valueFrom'), variable.valueFrom, variable.value ?? '');
  });
}

const sourceNames = ['fieldRef', 'resourceFieldRef', 'configMapKeyRef', 'secretKeyRef', 'fileKeyRef'] as const;

function validateSource(at: Field, source: DeepReadonly<EnvVarSource>, value: string): void {
  const count = sourceNames.filter((name) => source[name] !== undefined).length;
  if (source.fieldRef !== undefined) validateFieldRef(at.child('fieldRef'), source.fieldRef, envFields);
  if (source.resourceFieldRef !== undefined)
    validateResourceField(at.child('resourceFieldRef'), source.resourceFieldRef.resource);
  for (const name of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const reference = source[name];
    if (reference === undefined) continue;
    if (!reference.name) at.child(name, 'name').required();
    if (reference.key === '') at.child(name, 'key').required();
    else at.child(name, 'key').invalidAll(reference.key, configKeyErrors(reference.key));
  }
  if (count === 0)
    at.invalid('', 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`');
  else if (value !== '') at.invalid('', 'may not be specified when `value` is not empty');
  else if (count > 1) at.invalid('', 'may not have more than one field specified at a time');
}

/** Fields of a pod that an environment variable may show. */
const envFields: ReadonlySet<string> = new Set([
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]);

/** Fields of a pod that a file may show. */
export const volumeFields: ReadonlySet<string> = new Set([
  'metadata.name',
  'metadata.namespace',
  'metadata.labels',
  'metadata.annotations',
  'metadata.uid',
]);

/** Labels that fields of pods convert to. Source: AddFieldLabelConversionsForPod and fieldpath.SplitMaybeSubscriptedPath. */
const podFieldLabels: ReadonlySet<string> = new Set([
  ...envFields,
  ...volumeFields,
  'spec.host',
  'spec.restartPolicy',
  'spec.schedulerName',
  'spec.hostNetwork',
  'status.phase',
  'status.nominatedNodeName',
]);

/** Source: validateObjectFieldSelector. */
export function validateFieldRef(
  at: Field,
  reference: DeepReadonly<ObjectFieldSelector>,
  supported: ReadonlySet<string>,
): void {
  const path = reference.fieldPath;
  if (!reference.apiVersion) return at.child('apiVersion').required();
  if (path === '') return at.child('fieldPath').required();
  const subscript = /^(metadata\.(?:labels|annotations))\['(.*)'\]$/.exec(path);
  if (subscript !== null)
    return at.invalidAll(subscript[2] ?? '', subscriptErrors(subscript[1] ?? '', subscript[2] ?? ''));
  if (!podFieldLabels.has(path)) {
    return at.child('fieldPath').invalid(path, `error converting fieldPath: field label not supported: ${path}`);
  }
  if (!supported.has(path)) at.child('fieldPath').notSupported(path, [...supported].sort());
}

function subscriptErrors(map: string, key: string): readonly string[] {
  return map === 'metadata.labels' ? qualifiedNameErrors(key) : qualifiedNameErrors(key.toLowerCase());
}

const envResources: ReadonlySet<string> = new Set([
  'limits.cpu',
  'limits.memory',
  'limits.ephemeral-storage',
  'requests.cpu',
  'requests.memory',
  'requests.ephemeral-storage',
]);

function validateResourceField(at: Field, resource: string): void {
  if (resource === '') at.child('resource').required();
  else if (!envResources.has(resource) && !/^(limits|requests)\.hugepages-/.test(resource)) {
    at.child('resource').notSupported(resource, [...envResources].sort());
  }
}

export function validateEnvFrom(at: Field, sources: readonly DeepReadonly<EnvFromSource>[] | undefined): void {
  at.each(sources, (source, place) => {
    if (source.prefix) place.child('prefix').invalidAll(source.prefix, envNameErrors(source.prefix));
    const references = (['configMapRef', 'secretRef'] as const).filter((name) => source[name] !== undefined);
    for (const name of references) if (!source[name]?.name) place.child(name, 'name').required();
    if (references.length === 0) place.invalid('', 'must specify one of: `configMapRef` or `secretRef`');
    else if (references.length > 1) place.invalid('', 'may not have more than one field specified at a time');
  });
}
