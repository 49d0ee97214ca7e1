// The service account flags of `kapstan serve`, under kube-apiserver's names. Part of serve-flags.ts; serve.ts turns them into
// options.
import { readFile } from 'node:fs/promises';
import type { ServiceAccountOptions } from '../access/access-control.ts';
import { startingWith } from '../lifetime/start-error.ts';
import { type Flag, listFlag, repeatedFlag, stringFlag } from './flag-set.ts';

export interface ServiceAccountFlags {
  readonly 'service-account-signing-key-file': string;
  readonly 'service-account-key-file': readonly string[];
  readonly 'service-account-issuer': readonly string[];
  readonly 'api-audiences': readonly string[];
}

export const serviceAccountFlags: { readonly [K in keyof ServiceAccountFlags]: Flag<ServiceAccountFlags[K]> } = {
  'service-account-signing-key-file': stringFlag(
    'Path to the private key that signs service account tokens, used instead of the generated one. Servers that share an etcd cluster should use the same key.',
  ),
  'service-account-key-file': repeatedFlag(
    'Path to PEM-encoded private or public keys that verify service account tokens, in addition to the signing key. Can be specified multiple times.',
  ),
  'service-account-issuer': repeatedFlag(
    'Issuer of service account tokens. Can be specified multiple times: the first issues tokens, and tokens from all of them are accepted.',
  ),
  'api-audiences': {
    ...listFlag(
      'Audiences of this API; a service account token must name at least one of them. Defaults to the issuers.',
    ),
    shown: '',
  },
};

/** Source: BuiltInAuthenticationOptions.Validate, whose texts these are. */
export function serviceAccountFlagErrors(flags: ServiceAccountFlags): readonly string[] {
  const seen = new Set<string>();
  return flags['service-account-issuer'].flatMap((issuer) => {
    const quoted = JSON.stringify(issuer);
    if (issuer.includes(':') && !URL.canParse(issuer)) {
      return [`service-account-issuer ${quoted} contained a ':' but was not a valid URL`];
    }
    if (issuer === '') return ['service-account-issuer should not be an empty string'];
    if (seen.has(issuer)) return [`service-account-issuer ${quoted} is duplicated`];
    seen.add(issuer);
    return [];
  });
}

/** Reads the key files; rejects when one cannot be read. */
export async function serviceAccountOptions(flags: ServiceAccountFlags): Promise<ServiceAccountOptions> {
  const keyFiles = flags['service-account-key-file'];
  const signingKeyFile = flags['service-account-signing-key-file'];
  const read = (name: keyof ServiceAccountFlags, file: string): Promise<string> =>
    startingWith(`--${name}`, () => readFile(file, 'utf8'));
  const verificationKeys = await Promise.all(keyFiles.map((file) => read('service-account-key-file', file)));
  return {
    ...(signingKeyFile !== '' && { signingKey: await read('service-account-signing-key-file', signingKeyFile) }),
    verificationKeys,
    issuers: flags['service-account-issuer'],
    apiAudiences: flags['api-audiences'],
  };
}
