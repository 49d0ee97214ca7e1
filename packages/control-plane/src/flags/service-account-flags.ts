// The flags of `kapstan serve` about the tokens of service accounts, under kube-apiserver's names. Part of serve-flags.ts; serve.ts
// makes options of them.
import { readFile } from 'node:fs/promises';
import type { ServiceAccountOptions } from '../access-control.ts';
import { startingWith } from '../start-error.ts';
import { type Flag, listFlag, repeatedFlag, stringFlag } from './flag-set.ts';

export interface ServiceAccountFlags {
  readonly 'service-account-signing-key-file': string;
  readonly 'service-account-key-file': readonly string[];
  readonly 'service-account-issuer': readonly string[];
  readonly 'api-audiences': readonly string[];
}

export const serviceAccountFlags: { readonly [K in keyof ServiceAccountFlags]: Flag<ServiceAccountFlags[K]> } = {
  'service-account-signing-key-file': stringFlag(
    'Private key that signs tokens of service accounts, instead of the own one. Servers on one etcd should have the same.',
  ),
  'service-account-key-file': repeatedFlag(
    'Keys, private or public, whose tokens of service accounts count beside those that are signed here. May be repeated.',
  ),
  'service-account-issuer': repeatedFlag(
    'Who issues tokens of service accounts; when repeated, the first one does, and tokens of the others count too.',
  ),
  'api-audiences': {
    ...listFlag('For whom tokens of service accounts must be to be let in. Without it the issuers.'),
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

/** Reads the files; rejects when one cannot be read. */
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
