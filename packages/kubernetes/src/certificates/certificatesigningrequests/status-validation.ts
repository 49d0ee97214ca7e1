// Rules for the status of a certificate request: approvers may change the approval, signers the certificate. Source:
// pkg/apis/certificates/validation.

import { X509Certificate } from 'node:crypto';
import type { DeepReadonly } from '@kapstan/api';
import { messageOf } from '@kapstan/api/internal';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '@kapstan/kinds/certificates.k8s.io/v1';
import { internalForm } from '../../validation/internal-form.ts';
import { jsonDiff } from '../../validation/json-diff.ts';
import { pemBlocks } from './pem-blocks.ts';

type Request = DeepReadonly<CertificateSigningRequest>;
type Condition = DeepReadonly<CertificateSigningRequestCondition>;

const words = ['Approved', 'Denied'] as const;
const lasting: readonly string[] = [...words, 'Failed'];

/** 'word': Approved and Denied may be set. 'certificate': the certificate may be set. */
export type StatusPart = 'word' | 'certificate' | 'none';

/** A stored object may keep its faults. */
export function validateStatus(at: Field, { status }: Request, old: Request | undefined): void {
  validateRequestConditions(at.child('conditions'), status?.conditions ?? [], old?.status?.conditions ?? []);
  const certificate = status?.certificate ?? '';
  const before = old?.status?.certificate ?? '';
  if ((old !== undefined && certificate === before) || certificateFault(before) !== undefined) return;
  const fault = certificateFault(certificate);
  if (fault !== undefined) at.child('certificate').invalid('<certificate data>', fault);
}

function validateRequestConditions(at: Field, conditions: readonly Condition[], old: readonly Condition[]): void {
  const earlier = new Set<string>();
  const before = old.map(({ type = '' }) => type);
  const mayRepeat = new Set(before).size < before.length;
  const mayContradict = words.every((word) => before.includes(word));
  const hasEmpty = before.includes('');
  at.each(conditions, ({ type = '', status = '' }, place) => {
    if (type === '' && !hasEmpty) place.child('type').required();
    validateConditionStatus(place.child('status'), type, status);
    if (!mayContradict && words.some((word) => earlier.has(word) && isOpposite(word, type)))
      at.invalid(type, 'Approved and Denied conditions are mutually exclusive');
    if (!mayRepeat && earlier.has(type)) place.child('type').duplicate(type);
    earlier.add(type);
  });
}

function validateConditionStatus(at: Field, type: string, status: string): void {
  const allowed = lasting.includes(type) ? ['True'] : ['False', 'True', 'Unknown'];
  if (status === '') at.required();
  else if (!allowed.includes(status)) at.notSupported(status, allowed);
}

function isOpposite(a: string, b: string): boolean {
  return (a === 'Approved' && b === 'Denied') || (a === 'Denied' && b === 'Approved');
}

/** Returns the fault of a certificate, given as base64 of PEM. */
function certificateFault(certificate: string): string | undefined {
  if (certificate === '') return undefined;
  const blocks = pemBlocks(Buffer.from(certificate, 'base64').toString('latin1'));
  if (blocks.length === 0) return 'must contain at least one CERTIFICATE PEM block';
  for (const { type, hasHeaders, der } of blocks) {
    if (type !== 'CERTIFICATE') return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    if (hasHeaders) return 'no PEM block headers are permitted';
    if (der.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates';
    try {
      new X509Certificate(der);
    } catch (error) {
      return `x509: malformed certificate: ${messageOf(error)}`;
    }
  }
  return undefined;
}

/** Checks an update through an endpoint that may set only one part of the status. */
export function validateRequestStatusChange(
  at: Field,
  { next, old }: { readonly next: Request; readonly old: Request },
  part: StatusPart,
): void {
  const conditions = at.child('conditions');
  for (const type of lasting) {
    if (ofType(next, type).length < ofType(old, type).length)
      conditions.forbidden(`updates may not remove a condition of type ${JSON.stringify(type)}`);
  }
  if (part !== 'word') for (const type of words) requireSameWord(conditions, ofType(next, type), ofType(old, type));
  const before = old.status?.certificate ?? '';
  if ((next.status?.certificate ?? '') === before) return;
  if (part !== 'certificate') at.child('certificate').forbidden('updates may not set certificate content');
  else if (before !== '') at.child('certificate').forbidden('updates may not modify existing certificate content');
}

function requireSameWord(at: Field, next: readonly Condition[], old: readonly Condition[]): void {
  // Fewer conditions were reported already as removed.
  if (next.length < old.length || jsonEqual(next, old)) return;
  const type = JSON.stringify(next[0]?.type);
  if (next.length > old.length) at.forbidden(`updates may not add a condition of type ${type}`);
  else at.forbidden(`updates may not modify a condition of type ${type}\n${jsonDiff(shown(old), shown(next))}`);
}

const shown = (conditions: readonly Condition[]): unknown =>
  conditions.map((condition) => internalForm('certificates.CertificateSigningRequestCondition', condition));

function ofType({ status }: Request, type: string): readonly Condition[] {
  return (status?.conditions ?? []).filter((condition) => condition.type === type);
}
