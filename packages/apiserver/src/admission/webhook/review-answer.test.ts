import { runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { type ExpectedReview, readAdmissionReview } from './review-answer.ts';
import { WebhookCallError } from './webhook-failure.ts';

const expected: ExpectedReview = { version: 'v1', uid: 'u', isMutating: true, webhook: 'w.example.com' };
const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' };
const allowed = { uid: 'u', allowed: true };

function outcome(body: unknown, changes: Partial<ExpectedReview> = {}): unknown {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  try {
    const answer = { body: Buffer.from(text), code: 200, contentType: 'application/json' };
    return runWhole(readAdmissionReview(answer, { ...expected, ...changes }));
  } catch (error) {
    if (!(error instanceof WebhookCallError)) throw error;
    return error.message.replace('failed calling webhook "w.example.com": ', '');
  }
}

const invalid = (why: string): string => `received invalid webhook response: ${why}`;
const uncalled = (why: string): string => `failed to call webhook: ${why}`;

describe('the answer of a webhook', () => {
  it('is its response, whatever unknown fields it has', () => {
    const response = { ...allowed, warnings: ['w'], auditAnnotations: { k: 'v' }, status: { code: 409 }, future: 1 };
    const { future: _, ...known } = response;
    expect(outcome({ ...review, request: { uid: 'u' }, response })).toEqual(known);
  });

  it.each<[string, unknown, string]>([
    ['no response', review, invalid('webhook response was absent')],
    ['null for it', { ...review, response: null }, invalid('webhook response was absent')],
    ['another uid', { ...review, response: { ...allowed, uid: 'x' } }, invalid('expected response.uid="u", got "x"')],
    ['no uid', { ...review, response: { allowed: true } }, invalid('expected response.uid="u", got ""')],
    [
      'no kind',
      { apiVersion: review.apiVersion, response: allowed },
      invalid('expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1, Kind='),
    ],
    [
      'a patch without its type',
      { ...review, response: { ...allowed, patch: 'W10=' } },
      invalid('webhook returned response.patch but not response.patchType'),
    ],
    [
      'the type alone',
      { ...review, response: { ...allowed, patchType: 'JSONPatch' } },
      invalid('webhook returned response.patchType but not response.patch'),
    ],
    [
      'an empty type',
      { ...review, response: { ...allowed, patch: 'W10=', patchType: '' } },
      invalid('webhook returned invalid response.patchType of ""'),
    ],
    [
      'another version',
      { ...review, apiVersion: 'admission.k8s.io/v1beta1', response: allowed },
      uncalled('converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion'),
    ],
    [
      'another kind',
      { ...review, kind: 'Review', response: allowed },
      uncalled(
        'no kind "Review" is registered for version "admission.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"',
      ),
    ],
    [
      'a member of the wrong type',
      { ...review, response: { ...allowed, allowed: 'yes' } },
      uncalled('json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool'),
    ],
  ])('is refused with kube-apiserver’s text: %s', (_, body, text) => {
    expect(outcome(body)).toBe(text);
  });

  it('is refused when it is not JSON', () => {
    const start = "failed to call webhook: couldn't get version/kind; json parse error: ";
    expect(outcome('{hello')).toContain(`${start}invalid character 'h'`);
    expect(outcome('hello')).toContain(`${start}json: cannot unmarshal string into Go value of type struct`);
  });

  it('of a validating webhook has no patch', () => {
    const response = { ...allowed, patch: 'W10=', patchType: 'JSONPatch' };
    const text = invalid('validating webhook may not return response.patch');
    expect(outcome({ ...review, response }, { isMutating: false })).toBe(text);
    const typed = outcome({ ...review, response: { ...allowed, patchType: 'JSONPatch' } }, { isMutating: false });
    expect(typed).toBe(invalid('validating webhook may not return response.patchType'));
  });

  it.each([undefined, 'json'])('in the older version needs neither uid nor type of patch: %s', (patchType) => {
    const response = { allowed: true, patch: 'W10=', ...(patchType !== undefined && { patchType }) };
    expect(outcome({ response }, { version: 'v1beta1' })).toEqual({ ...response, patchType: 'JSONPatch' });
  });
});
