import { readFileSync } from 'node:fs';
import { formatFieldErrors } from '@kapstan/api/errors';
import { runWhole } from '@kapstan/api/internal';
import { describe, expect, it } from 'vitest';
import { type AuthenticationConfiguration, parseAuthenticationConfiguration } from './authentication-configuration.ts';
import { checkAuthenticationConfiguration } from './configuration-rules.ts';

interface Recorded {
  readonly name: string;
  readonly text?: string;
  readonly configuration?: AuthenticationConfiguration;
  readonly error: string;
}

const fixture = new URL('../../../fixtures/authentication-configurations.json', import.meta.url);
const { cases } = JSON.parse(readFileSync(fixture, 'utf8')) as { readonly cases: readonly Recorded[] };

/** Cases that we report in other words, or at another place. */
const ours: ReadonlyMap<string, string> = new Map([
  [
    'another kind',
    'no kind "EncryptionConfiguration" is registered for version "apiserver.config.k8s.io/v1" in scheme "pkg/runtime/scheme.go:111"',
  ],
  // kube-apiserver reports this without the place at start-up, and with it when the file changes.
  [
    'url: disallowed',
    'invalid authentication configuration: jwt[0].issuer.url: Invalid value: "https://kubernetes.default.svc": URL must not overlap with disallowed issuers: [https://kubernetes.default.svc]',
  ],
  // This fault is reported only when the authenticator is made.
  ['egress: cluster', ''],
]);

function errorOf(text: string): string {
  try {
    const configuration = parseAuthenticationConfiguration(text);
    const { errors } = runWhole(checkAuthenticationConfiguration(configuration, ['https://kubernetes.default.svc']));
    return errors.length === 0 ? '' : `invalid authentication configuration: ${formatFieldErrors(errors)}`;
  } catch (error) {
    return (error as Error).message;
  }
}

describe('an AuthenticationConfiguration', () => {
  it.each(cases.map((recorded) => [recorded.name, recorded] as const))(
    'gets the errors that kube-apiserver has for it: %s',
    (name, { text, configuration, error }) => {
      expect(errorOf(text ?? JSON.stringify(configuration))).toBe(ours.get(name) ?? error);
    },
  );

  it('does not let an address that nobody has verified become a name unnoticed', () => {
    const unverified = cases.find(({ name }) => name === 'mappings: email: unverified');
    expect(errorOf(JSON.stringify(unverified?.configuration))).toContain('claims.email_verified must be used');
  });

  it('has at most 64 issuers', () => {
    const jwt = Array.from({ length: 65 }, () => ({}));
    const text = JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration', jwt });
    expect(errorOf(text)).toBe('invalid authentication configuration: jwt: Too many: 65: must have at most 64 items');
  });
});
