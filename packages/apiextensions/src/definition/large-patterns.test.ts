import type { UnstructuredObject } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { hasLargePatterns } from './large-patterns.ts';

function definition(...patterns: readonly string[]): UnstructuredObject {
  const properties = Object.fromEntries(patterns.map((pattern, at) => [`p${at}`, { type: 'string', pattern }]));
  const spec = { versions: [{ name: 'v1', schema: { openAPIV3Schema: { type: 'object', properties } } }] };
  return { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: {}, spec };
}

describe('hasLargePatterns', () => {
  it('finds a long pattern', () => expect(hasLargePatterns(definition('ab|'.repeat(1000)))).toBe(true));
  it('finds a large program', () => expect(hasLargePatterns(definition('((ab){1,30}){1,30}c{100}'))).toBe(true));
  it('counts different patterns together', () => {
    const patterns = Array.from({ length: 100 }, (_, at) => `^[a-z]+-with-some-suffix-${at}$`);
    expect(hasLargePatterns(definition(...patterns))).toBe(true);
  });
  it('counts a pattern once', () => {
    const patterns = Array.from({ length: 1000 }, () => '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$');
    expect(hasLargePatterns(definition(...patterns))).toBe(false);
  });
});
