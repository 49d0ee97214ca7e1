// Rules for environment variables. Source: pkg/apis/core/validation ValidateEnv, validateEnvVarValueFrom.
import { type DeepReadonly, parseQuantity } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { Quantity } from '@kapstan/kinds';
import type {
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  FileKeySelector,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '@kapstan/kinds/core/v1';
import { configKeyErrors, envNameErrors } from '../../validation/value-rules.ts';
import { validatePathWithoutDots } from './volume-source-validation.ts';

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
    validateResourceField(at.child('resourceFieldRef'), source.resourceFieldRef);
  for (const name of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const reference = source[name];
    if (reference === undefined) continue;
    at.child(name, 'name').invalidAll(reference.name ?? '', dnsSubdomainErrors(reference.name ?? ''));
    if (reference.key === '') at.child(name, 'key').required();
    else at.child(name, 'key').invalidAll(reference.key, configKeyErrors(reference.key));
  }
  if (source.fileKeyRef !== undefined) validateFileKey(at.child('fileKeyRef'), source.fileKeyRef);
  if (count === 0)
    at.invalid(
      '',
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    );
  else if (value !== '') at.invalid('', 'may not be specified when `value` is not empty');
  else if (count > 1) at.invalid('', 'may not have more than one field specified at a time');
}

/** Fields of a pod that an environment variable may refer to. */
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

/** Fields of a pod that a file may refer to. */
export const volumeFields: ReadonlySet<string> = new Set([
  'metadata.name',
  'metadata.namespace',
  'metadata.labels',
  'metadata.annotations',
  'metadata.uid',
]);

/**
 * Labels that pods' fields convert to. Source: AddFieldLabelConversionsForPod and fieldpath.SplitMaybeSubscriptedPath.
 */
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
  if (reference.apiVersion !== 'v1') {
    const text = `error converting fieldPath: unsupported pod version: ${reference.apiVersion}`;
    return at.child('fieldPath').invalid(path, text);
  }
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

/** Volumes must name the container. Source: validateContainerResourceFieldSelector. */
export function validateResourceField(
  at: Field,
  { containerName, resource, divisor }: DeepReadonly<ResourceFieldSelector>,
  needs?: 'container',
): void {
  if (needs === 'container' && !containerName) at.child('containerName').required();
  else if (resource === '') at.child('resource').required();
  else if (!envResources.has(resource) && !/^(limits|requests)\.hugepages-/.test(resource)) {
    at.child('resource').notSupported(resource, [...envResources].sort());
  }
  validateDivisor(at.child('divisor'), resource, divisor ?? '0');
}

const sizes = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];
const divisors = [
  { form: /^(limits|requests)\.cpu$/, values: ['1m', '1'], text: '1m and 1', what: 'cpu' },
  { form: /^(limits|requests)\.memory$/, values: sizes, text: sizes.join(', '), what: 'memory' },
  {
    form: /^(limits|requests)\.ephemeral-storage$/,
    values: sizes,
    text: sizes.join(', '),
    what: 'local ephemeral storage',
  },
  { form: /^(limits|requests)\.hugepages-/, values: sizes, text: sizes.join(', '), what: 'hugepages' },
];

/** Source: validateContainerResourceDivisor. */
function validateDivisor(at: Field, resource: string, divisor: Quantity): void {
  const amount = parseQuantity(String(divisor));
  if (amount.compare(parseQuantity('0')) === 0) return;
  const rule = divisors.find(({ form }) => form.test(resource));
  if (rule !== undefined && !rule.values.includes(amount.toString()))
    at.invalid(resource, `only divisor's values ${rule.text} are supported with the ${rule.what} resource`);
}

/** Source: validateFileKeySelector. */
function validateFileKey(at: Field, { key, volumeName, path }: DeepReadonly<FileKeySelector>): void {
  if (key === '') at.child('key').required();
  else at.child('key').invalidAll(key, envNameErrors(key));
  if (volumeName === '') at.child('volumeName').required();
  else at.child('volumeName').invalidAll(volumeName, dnsLabelErrors(volumeName));
  if (path === '') at.child('path').required();
  else validatePathWithoutDots(at.child('path'), path);
}

export function validateEnvFrom(at: Field, sources: readonly DeepReadonly<EnvFromSource>[] | undefined): void {
  at.each(sources, (source, place) => {
    if (source.prefix) place.child('prefix').invalidAll(source.prefix, envNameErrors(source.prefix));
    const given = (['configMapRef', 'secretRef'] as const).filter((name) => source[name] !== undefined);
    for (const name of given) {
      const referred = source[name]?.name ?? '';
      if (referred === '') place.child(name, 'name').required();
      // The text may be the beginning of a name.
      else place.child(name, 'name').invalidAll(referred, dnsSubdomainErrors(referred.replace(/-$/, 'a')));
    }
    // Kubernetes reports this at the list.
    if (given.length === 0) at.invalid('', 'must specify one of: `configMapRef` or `secretRef`');
    else if (given.length > 1) at.invalid('', 'may not have more than one field specified at a time');
  });
}
