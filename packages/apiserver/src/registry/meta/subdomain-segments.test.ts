import { dnsSubdomainErrors } from '@kapstan/api/errors';
import { describe, expect, it, vi } from 'vitest';
import { collectFieldErrors } from './field.ts';
import { validateSubdomainSegments } from './subdomain-segments.ts';

function errorsOf(text: string) {
  return collectFieldErrors((root) =>
    validateSubdomainSegments(root, text, (segment, message, index) => root.invalid(segment, `${index}: ${message}`)),
  );
}

function plainErrorsOf(text: string) {
  return collectFieldErrors((root) => {
    text.split('/').forEach((segment, index) => {
      for (const message of dnsSubdomainErrors(segment)) root.invalid(segment, `${index}: ${message}`);
    });
  });
}

describe('validateSubdomainSegments', () => {
  it.each([
    '',
    'a',
    'a/b.c/d-e',
    'a//b/',
    '/',
    '-a/a-/a.-b/a-.b/.a/a./a..b/a--b/A/é',
    `${'a'.repeat(253)}/${'a'.repeat(254)}/${'é'.repeat(127)}/${'-'.repeat(254)}`,
    '/'.repeat(300),
    `${'-/'.repeat(200)}${'-'.repeat(254)}/${'a/'.repeat(50)}é`,
  ])('finds the errors that each segment has: %s', (text) => {
    expect(errorsOf(text)).toEqual(plainErrorsOf(text));
  });

  it('cuts out only the segments whose errors are shown', () => {
    const slice = vi.spyOn(String.prototype, 'slice');
    errorsOf('-/'.repeat(5_000));
    const cuts = slice.mock.calls.length;
    slice.mockRestore();
    expect(cuts).toBeLessThan(300);
  });
});
