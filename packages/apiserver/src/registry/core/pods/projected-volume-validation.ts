// Rules for projected volumes: several sources in one directory, each path once. Source: pkg/apis/core/validation
// validateProjectionSources.
import { type DeepReadonly, dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api';
import type {
  ClusterTrustBundleProjection,
  DownwardAPIVolumeFile,
  KeyToPath,
  PodCertificateProjection,
  ProjectedVolumeSource,
  VolumeProjection,
} from '@kapstan/kinds/core/v1';
import { validateAnnotationKeys } from '../../validation/annotation-rules.ts';
import type { Field } from '../../validation/field.ts';
import { goLabelSelector, validateLabelSelector } from '../../validation/label-rules.ts';
import { validateLocalPath } from './volume-source-validation.ts';

/** Rules that plain volumes have, too. */
interface FileRules {
  validateItems(at: Field, items: readonly DeepReadonly<KeyToPath>[] | undefined): void;
  validateDownwardItems(at: Field, items: readonly DeepReadonly<DownwardAPIVolumeFile>[] | undefined): void;
}

/** Paths that are taken; a conflict is told at the volume. */
interface Paths {
  take(path: string, shown: string): void;
}

const kinds = [
  'secret',
  'configMap',
  'downwardAPI',
  'serviceAccountToken',
  'clusterTrustBundle',
  'podCertificate',
] as const;

/** `at` is the volume source. */
export function validateProjected(
  at: Field,
  projected: DeepReadonly<ProjectedVolumeSource> | undefined,
  rules: FileRules,
): void {
  const taken = new Set<string>();
  const paths: Paths = {
    take: (path, shown) => {
      if (taken.has(path)) at.invalid(shown, 'conflicting duplicate paths');
      taken.add(path);
    },
  };
  at.child('sources').each(projected?.sources, (source, place) => {
    validateNamed(place, source, { rules, paths });
    if (source.serviceAccountToken !== undefined) validateToken(at, place.child('serviceAccountToken'), source);
    if (source.clusterTrustBundle !== undefined)
      validateBundle(place.child('clusterTrustBundle'), source.clusterTrustBundle, paths);
    if (source.podCertificate !== undefined)
      validateCertificate(place.child('podCertificate'), source.podCertificate, paths);
    if (kinds.filter((name) => source[name] !== undefined).length > 1)
      place.forbidden('may not specify more than 1 volume type per source');
  });
}

function validateNamed(
  at: Field,
  source: DeepReadonly<VolumeProjection>,
  { rules, paths }: { readonly rules: FileRules; readonly paths: Paths },
): void {
  for (const name of ['secret', 'configMap'] as const) {
    const reference = source[name];
    if (reference === undefined) continue;
    at.child(name, 'name').present(reference.name);
    rules.validateItems(at.child(name), reference.items);
    for (const { path } of reference.items ?? []) if (path !== '') paths.take(path, reference.name ?? '');
  }
  rules.validateDownwardItems(at.child('downwardAPI'), source.downwardAPI?.items);
  for (const { path } of source.downwardAPI?.items ?? []) if (path !== '') paths.take(path, path);
}

const minTokenSeconds = 600;
const maxTokenSeconds = 2 ** 32;

/** The path is told at the volume. */
function validateToken(volume: Field, at: Field, { serviceAccountToken: token }: DeepReadonly<VolumeProjection>): void {
  const seconds = token?.expirationSeconds ?? 0;
  const place = at.child('expirationSeconds');
  if (seconds < minTokenSeconds) place.invalid(seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > maxTokenSeconds) place.invalid(seconds, 'may not specify a duration larger than 2^32 seconds');
  if (!token?.path) volume.child('path').required();
  else validateLocalPath(volume.child('path'), token.path);
}

function validateBundle(at: Field, bundle: DeepReadonly<ClusterTrustBundleProjection>, paths: Paths): void {
  const { name, signerName, labelSelector } = bundle;
  if (name !== undefined && signerName !== undefined) at.invalid(bundle, 'only one of name and signerName may be used');
  else if (name !== undefined) {
    if (name === '') at.child('name').required('must be a valid object name');
    for (const error of bundleNameErrors(name))
      at.child('name').invalid(name, `not a valid clustertrustbundlename: ${error}`);
    if (labelSelector !== undefined)
      at.child('labelSelector').invalid(
        goLabelSelector(labelSelector),
        'labelSelector must be unset if name is specified',
      );
  } else if (signerName !== undefined) {
    if (signerName === '') at.child('signerName').required('must be a valid signer name');
    validateSignerName(at.child('signerName'), signerName);
    validateLabelSelector(at.child('labelSelector'), labelSelector);
  } else at.required('either name or signerName must be specified');
  if (bundle.path === '') at.child('path').required();
  validateLocalPath(at.child('path'), bundle.path);
  paths.take(bundle.path, bundle.path);
}

/** "example.com:signer:name" belongs to a signer, any other to none. Source: ValidateClusterTrustBundleName. */
function bundleNameErrors(name: string): readonly string[] {
  const last = name.lastIndexOf(':');
  return last < 0 ? dnsSubdomainErrors(name) : dnsSubdomainErrors(name.slice(last + 1));
}

/** "example.com/path". Source: ValidateSignerName. */
function validateSignerName(at: Field, name: string): void {
  if (name === '') return at.required();
  const segments = name.split('/');
  if (segments.length !== 2)
    return at.invalid(name, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
  const [domain = '', path = ''] = segments;
  validateParts(at, domain, dnsLabelErrors);
  if (domain.split('.').length < 2)
    at.invalid(domain, 'should be a domain with at least two segments separated by dots');
  validateParts(at, path, dnsSubdomainErrors);
}

/** The first part between dots that is wrong is told. */
function validateParts(at: Field, text: string, rule: (part: string) => readonly string[]): void {
  const part = text.split('.').find((candidate) => rule(candidate).length > 0);
  if (part === undefined) return;
  for (const error of rule(part)) at.invalid(text, `validating label ${JSON.stringify(part)}: ${error}`);
}

const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];
const minCertificateSeconds = 3600;
const maxCertificateSeconds = 91 * 24 * 3600;
const maxKubernetesSeconds = 24 * 3600;
const certificatePaths = ['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const;

function validateCertificate(at: Field, certificate: DeepReadonly<PodCertificateProjection>, paths: Paths): void {
  const { signerName, keyType, maxExpirationSeconds: seconds } = certificate;
  validateSignerName(at.child('signerName'), signerName);
  validateAnnotationKeys(at.child('userAnnotations'), certificate.userAnnotations);
  if (!keyTypes.includes(keyType)) at.child('keyType').notSupported(keyType, keyTypes);
  if (seconds !== undefined) {
    const isOurs = signerName.startsWith('kubernetes.io/') || /^[^/]+\.kubernetes\.io\//.test(signerName);
    const max = isOurs ? maxKubernetesSeconds : maxCertificateSeconds;
    const place = at.child('maxExpirationSeconds');
    if (seconds < minCertificateSeconds) place.invalid(seconds, 'if provided, maxExpirationSeconds must be >= 3600');
    if (seconds > max) place.invalid(seconds, `if provided, maxExpirationSeconds must be <= ${max}`);
  }
  const given = certificatePaths.filter((name) => certificate[name]);
  for (const name of given) {
    validateLocalPath(at.child(name), certificate[name] ?? '');
    paths.take(certificate[name] ?? '', certificate[name] ?? '');
  }
  if (given.length === 0)
    at.required('specify at least one of credentialBundlePath, keyPath, and certificateChainPath');
}
