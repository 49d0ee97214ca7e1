// Rules for the contents of a certificate request. Source: pkg/apis/certificates/validation, names.go
// ValidateSignerName.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { CertificateSigningRequest } from '@kapstan/kinds/certificates.k8s.io/v1';
import { repetitions } from '../../validation/repetition.ts';
import { requestFault } from './signed-request.ts';

type Request = DeepReadonly<CertificateSigningRequest>;

/** Usages, sorted as errors list them. */
const knownUsages: readonly string[] = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];

const legacySigner = 'kubernetes.io/legacy-unknown';
const shortestSeconds = 600;

/** A stored object may keep its faults. */
export function validateRequest(at: Field, { spec }: Request, old: Request | undefined): void {
  const fault = requestFault(spec.request ?? '');
  if (fault !== undefined) at.child('request').invalid(spec.request ?? null, fault);
  validateUsages(at.child('usages'), spec.usages ?? [], old?.spec.usages ?? []);
  const signer = spec.signerName ?? '';
  if (signer === legacySigner && old?.spec.signerName !== legacySigner)
    at.child('signerName').invalid(signer, 'the legacy signerName is not allowed via this API version');
  else validateSignerName(at.child('signerName'), signer);
  const seconds = spec.expirationSeconds;
  if (seconds !== undefined && seconds < shortestSeconds) {
    const rule = `may not specify a duration less than ${shortestSeconds} seconds (10 minutes)`;
    at.child('expirationSeconds').invalid(seconds, rule);
  }
}

function validateUsages(at: Field, usages: readonly string[], old: readonly string[]): void {
  if (usages.length === 0) at.required();
  if (old.every((usage) => knownUsages.includes(usage)))
    at.each(usages, (usage, place) => {
      if (!knownUsages.includes(usage)) place.notSupported(usage, knownUsages);
    });
  if (new Set(old).size < old.length) return;
  const isRepeated = repetitions<string>();
  at.each(usages, (usage, place) => {
    if (isRepeated(usage)) place.duplicate(usage);
  });
}

function validateSignerName(at: Field, name: string): void {
  if (name === '') return at.required();
  const [domain = '', path = '', ...more] = name.split('/');
  if (!name.includes('/') || more.length > 0)
    return at.invalid(name, "must be a fully qualified domain and path of the form 'example.com/signer-name'");
  const labels = domain.split('.');
  const wrong = labels.find((label) => dnsLabelErrors(label).length > 0);
  if (wrong !== undefined)
    at.invalidAll(
      domain,
      dnsLabelErrors(wrong).map((text) => labelled(wrong, text)),
    );
  if (labels.length < 2) at.invalid(domain, 'should be a domain with at least two segments separated by dots');
  at.invalidAll(
    path,
    dnsSubdomainErrors(path).map((text) => labelled(path, text)),
  );
}

function labelled(label: string, text: string): string {
  return `validating label ${JSON.stringify(label)}: ${text}`;
}
