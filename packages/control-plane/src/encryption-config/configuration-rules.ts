// Rules for an EncryptionConfiguration, reported as field errors with kube-apiserver's texts. Between configuration.ts and
// transformer-set.ts. Source: apiserver validation.ValidateEncryptionConfiguration.
import type { GroupResource } from '@kapstan/api';
import { type FieldError, invalidField, requiredField } from '@kapstan/api/errors';
import type {
  EncryptionConfiguration,
  KeyRing,
  KmsConfiguration,
  NamedKey,
  ProviderConfiguration,
} from './configuration.ts';
import { isAnyGroupAndResource, parseGroupResource, sameGroupResource } from './resource-names.ts';

const aesKeySizes = [16, 24, 32];
const secretboxKeySizes = [32];

export function encryptionConfigurationErrors(
  { resources }: EncryptionConfiguration,
  options: { readonly reloads: boolean },
): readonly FieldError[] {
  if (resources.length === 0) return [requiredField('resources', 'at least one resources is required')];
  const names = new Set<string>();
  return resources.flatMap(({ resources: list, providers }, index) => {
    const at = `resources[${index}]`;
    const errors = [...listErrors(list, `${at}.resources`)];
    if (providers.length === 0) {
      errors.push(requiredField(`${at}.providers`, `at least one ${at}.providers is required`));
    }
    for (const [place, provider] of providers.entries()) {
      errors.push(...providerErrors(provider, `${at}.providers[${place}]`, { names, ...options }));
      if (provider.kms !== undefined) names.add(provider.kms.name);
    }
    return errors;
  });
}

function listErrors(list: readonly string[], path: string): readonly FieldError[] {
  if (list.length === 0) return [requiredField(path, `at least one ${path} is required`)];
  const errors = overlapErrors(list, path);
  for (const [index, name] of list.entries()) {
    const rule = nameRule(name);
    if (rule !== undefined) errors.push(invalidField(`${path}[${index}]`, name, rule));
  }
  return errors;
}

function overlapErrors(list: readonly string[], path: string): FieldError[] {
  const parsed = list.map(parseGroupResource);
  const isDuplicate = (one: GroupResource, index: number): boolean =>
    parsed.some((other, place) => place !== index && sameGroupResource(one, other));
  const masks = (one: GroupResource, index: number): boolean =>
    parsed.some((other, place) => {
      // A rule that is listed twice masks itself, as in Go.
      return place !== index && (isAnyGroupAndResource(one) || (one.group === other.group && one.resource === '*'));
    });
  const errors: FieldError[] = [];
  if (parsed.some(isDuplicate)) {
    errors.push(invalidField(path, list, 'the same resource cannot be specified multiple times'));
  }
  if (parsed.some(masks)) {
    const rule =
      "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";
    errors.push(invalidField(path, list, rule));
  }
  return errors;
}

/** Names under which the store keeps data that is not an API object. */
const notServed: ReadonlySet<string> = new Set([
  'apiserveripinfo',
  'serviceipallocations',
  'servicenodeportallocations',
]);

function nameRule(name: string): string | undefined {
  if (name.toLowerCase() !== name) return 'resource name should not contain capital letters';
  if (name === '*') {
    return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  }
  if (notServed.has(name)) return 'resources which do not have REST API/s cannot be encrypted';
  const { group, resource } = parseGroupResource(name);
  if (group === 'events.k8s.io') {
    return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file";
  }
  if (group === 'extensions') return "'extensions' group has been removed and cannot be used for encryption";
  if (group === '*' && resource !== '*') return 'encrypting the same resource across groups is not supported';
  return undefined;
}

interface KmsContext {
  /** Names of the KMS providers before this one. */
  readonly names: ReadonlySet<string>;
  readonly reloads: boolean;
}

function providerErrors(provider: ProviderConfiguration, path: string, context: KmsContext): readonly FieldError[] {
  const errors: FieldError[] = [];
  const count = Object.keys(provider).length;
  // The value is left out because it holds keys.
  if (count === 0) {
    const expected = 'KMS, AESGCM, AESCBC, Secretbox, Identity';
    errors.push(invalidField(path, undefined, `provider does not contain any of the expected providers: ${expected}`));
  }
  if (count > 1) {
    const rule = 'more than one provider specified in a single element, should split into different list elements';
    errors.push(invalidField(path, undefined, rule));
  }
  const { kms, aesgcm, aescbc, secretbox } = provider;
  if (kms !== undefined) errors.push(...kmsErrors(kms, `${path}.kms`, context));
  else if (aesgcm !== undefined) errors.push(...keyErrors(aesgcm, `${path}.aesgcm.keys`, aesKeySizes));
  else if (aescbc !== undefined) errors.push(...keyErrors(aescbc, `${path}.aescbc.keys`, aesKeySizes));
  else if (secretbox !== undefined) errors.push(...keyErrors(secretbox, `${path}.secretbox.keys`, secretboxKeySizes));
  return errors;
}

function keyErrors({ keys }: KeyRing, path: string, sizes: readonly number[]): readonly FieldError[] {
  if (keys.length === 0) return [requiredField(path, 'at least one keys is required')];
  return keys.flatMap((key, index) => {
    const at = `${path}[${index}]`;
    const name = key.name === '' ? [requiredField(`${at}.name`, 'name is a mandatory field for a key')] : [];
    return [...name, ...secretErrors(key, `${at}.secret`, sizes)];
  });
}

function secretErrors({ secret }: NamedKey, path: string, sizes: readonly number[]): readonly FieldError[] {
  if (secret === '') return [requiredField(path, 'secret is a mandatory field for a key')];
  const key = decodeSecret(secret);
  if (key === undefined) return [invalidField(path, 'REDACTED', 'secrets must be base64 encoded')];
  if (sizes.includes(key.length)) return [];
  const rule = `secret is not of the expected length, got ${key.length}, expected one of [${sizes.join(' ')}]`;
  return [invalidField(path, 'REDACTED', rule)];
}

/** Decodes padded standard base64, ignoring line breaks as Go does. Undefined when the text is not base64. */
export function decodeSecret(secret: string): Buffer | undefined {
  const text = secret.replace(/[\r\n]/g, '');
  const isBase64 = text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
  return isBase64 ? Buffer.from(text, 'base64') : undefined;
}

function kmsErrors(kms: KmsConfiguration, path: string, { names, reloads }: KmsContext): readonly FieldError[] {
  const { name, apiVersion, cachesize, timeoutMs } = kms;
  const errors: FieldError[] = [];
  const at = `${path}.name`;
  if (name === '') errors.push(requiredField(at, 'name is a mandatory field for a provider'));
  if (apiVersion !== 'v1' && name.includes(':')) {
    errors.push(invalidField(at, name, `invalid KMS provider name ${name}, must not contain ':'`));
  }
  if ((reloads || apiVersion !== 'v1') && names.has(name)) {
    errors.push(invalidField(at, name, `duplicate KMS provider name ${name}, names must be unique`));
  }
  if (timeoutMs <= 0) {
    errors.push(invalidField(`${path}.timeout`, `${timeoutMs / 1000}s`, 'timeout should be a positive value'));
  }
  errors.push(...endpointErrors(kms.endpoint, `${path}.endpoint`));
  if (apiVersion !== 'v1' && cachesize !== undefined) {
    errors.push(invalidField(`${path}.cachesize`, cachesize, 'cachesize is not supported in v2'));
  }
  if (apiVersion === 'v1' && cachesize === 0) {
    const rule = 'cachesize should be a positive value, or negative to disable';
    errors.push(invalidField(`${path}.cachesize`, cachesize, rule));
  }
  if (apiVersion !== 'v1' && apiVersion !== 'v2') {
    const rule = 'unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported';
    errors.push(invalidField(`${path}.apiVersion`, apiVersion, rule));
  }
  return errors;
}

function endpointErrors(endpoint: string, path: string): readonly FieldError[] {
  if (endpoint === '') return [invalidField(path, '', 'endpoint is a mandatory field for a kms')];
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(endpoint)?.[1]?.toLowerCase() ?? '';
  if (scheme === 'unix') return [];
  return [invalidField(path, endpoint, `unsupported scheme "${scheme}" for KMS provider, only unix is supported`)];
}
