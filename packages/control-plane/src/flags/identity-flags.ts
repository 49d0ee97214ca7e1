// The flags of `kapstan serve` for users of outside identity providers, under kube-apiserver's names. Part of serve-flags.ts; serve.ts
// turns them into options. Source: pkg/kubeapiserver/options/authentication.go, from which the texts are taken.
import { readFile } from 'node:fs/promises';
import { startingWith } from '../lifetime/start-error.ts';
import type {
  OidcOptions,
  OutsideIdentityOptions,
  TokenWebhookSettings,
} from '../outside-identity/outside-identity-options.ts';
import {
  anyDurationFlag,
  booleanFlag,
  type Flag,
  FlagSyntax,
  listFlag,
  repeatedFlag,
  stringFlag,
  untilGiven,
} from './flag-set.ts';

/** Undefined = the flag is not given, which counts: some flags exclude others. */
export interface IdentityFlags {
  readonly 'anonymous-auth': boolean | undefined;
  readonly 'authentication-config': string;
  readonly 'authentication-token-webhook-config-file': string;
  readonly 'authentication-token-webhook-version': string;
  readonly 'authentication-token-webhook-cache-ttl': number;
  readonly 'oidc-issuer-url': string | undefined;
  readonly 'oidc-client-id': string | undefined;
  readonly 'oidc-ca-file': string | undefined;
  readonly 'oidc-username-claim': string | undefined;
  readonly 'oidc-username-prefix': string | undefined;
  readonly 'oidc-groups-claim': string | undefined;
  readonly 'oidc-groups-prefix': string | undefined;
  readonly 'oidc-signing-algs': readonly string[] | undefined;
  readonly 'oidc-required-claim': ReadonlyMap<string, string> | undefined;
}

export const identityFlags: { readonly [K in keyof IdentityFlags]: Flag<IdentityFlags[K]> } = {
  'anonymous-auth': untilGiven(
    booleanFlag('Accept requests without credentials and treat them as user system:anonymous.', true),
  ),
  'authentication-config': stringFlag(
    'Path to a file that configures issuers of JSON Web Tokens and where anonymous requests are served. It is read again once a minute. Excludes the --oidc-* flags, and --anonymous-auth if the file says who may be anonymous.',
  ),
  'authentication-token-webhook-config-file': stringFlag(
    'Path to a kubeconfig that names the webhook to ask about bearer tokens.',
  ),
  'authentication-token-webhook-version': stringFlag(
    'API version of the token reviews sent to and expected from the webhook: v1 or v1beta1.',
    'v1beta1',
  ),
  'authentication-token-webhook-cache-ttl': anyDurationFlag('How long answers of the webhook are cached.', 120_000),
  'oidc-issuer-url': untilGiven(
    stringFlag('URL of the OpenID issuer whose tokens are accepted. Only https is allowed. Requires --oidc-client-id.'),
  ),
  'oidc-client-id': untilGiven(stringFlag('Client ID for which tokens of the OpenID issuer must be issued.')),
  'oidc-ca-file': untilGiven(
    stringFlag(
      "Certificate authority file used to verify the OpenID issuer's certificate, instead of the system's authorities.",
    ),
  ),
  'oidc-username-claim': untilGiven(stringFlag('Claim of the token to use as the user name.', 'sub')),
  'oidc-username-prefix': untilGiven(
    stringFlag(
      'Prefix of user names. If not given, names from claims other than "email" are prefixed with the issuer URL. "-" means no prefix.',
    ),
  ),
  'oidc-groups-claim': untilGiven(
    stringFlag("Claim of the token to use as the user's groups: a string or a list of strings."),
  ),
  'oidc-groups-prefix': untilGiven(stringFlag('Prefix of all groups.')),
  'oidc-signing-algs': untilGiven(
    listFlag(
      'Comma-separated list of allowed signing algorithms: RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512.',
      ['RS256'],
    ),
  ),
  'oidc-required-claim': requiredClaimFlag(
    'A key=value pair that the token must have as a claim. Can be specified multiple times.',
  ),
};

function requiredClaimFlag(help: string): Flag<ReadonlyMap<string, string> | undefined> {
  const { format: _list, ...list } = repeatedFlag(help);
  const parse = (text: string): ReadonlyMap<string, string> =>
    new Map(
      list.parse(text).map((pair) => {
        const cut = pair.indexOf('=');
        if (cut < 0) throw new FlagSyntax(`malformed pair, expect string=string`);
        return [pair.slice(0, cut).trim(), pair.slice(cut + 1).trim()];
      }),
    );
  // Go prints a map of texts so.
  const format = (pairs?: ReadonlyMap<string, string>): string =>
    [...(pairs ?? [])]
      .map(([key, value]) => `${key}=${value}`)
      .sort()
      .join(',');
  return { ...list, parse, format, default: undefined, shown: '' };
}

const oidcNames = (Object.keys(identityFlags) as (keyof IdentityFlags)[]).filter((name) => name.startsWith('oidc-'));

export function identityFlagErrors(flags: IdentityFlags): readonly string[] {
  const isOidc = oidcNames.some((name) => flags[name] !== undefined);
  if (!isOidc) return [];
  if (flags['authentication-config'] !== '') {
    return ['authentication-config file and oidc-* flags are mutually exclusive'];
  }
  if (flags['oidc-issuer-url'] && flags['oidc-client-id']) return [];
  return ['oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set'];
}

/** Source: ToAuthenticationConfig. */
export function identityFlagWarnings(flags: IdentityFlags): readonly string[] {
  const ttlMs = flags['authentication-token-webhook-cache-ttl'];
  if (flags['authentication-token-webhook-config-file'] === '' || ttlMs <= 0 || ttlMs >= 10_000) return [];
  return [
    `the webhook cache ttl of ${ttlMs / 1000}s is shorter than the overall cache ttl of 10s for successful token authentication attempts.`,
  ];
}

/** Reads the authorities of the issuer; rejects when that fails. */
export async function identityOptions(flags: IdentityFlags): Promise<OutsideIdentityOptions> {
  const file = flags['authentication-config'];
  return {
    configFile: file === '' ? undefined : file,
    isAnonymousDecided: flags['anonymous-auth'] !== undefined,
    oidc: await oidcOptions(flags),
    tokenWebhook: webhookSettings(flags),
  };
}

async function oidcOptions(flags: IdentityFlags): Promise<OidcOptions | undefined> {
  const { 'oidc-issuer-url': issuerUrl, 'oidc-client-id': clientId, 'oidc-ca-file': caFile } = flags;
  if (!issuerUrl || !clientId) return undefined;
  return {
    issuerUrl,
    clientId,
    ca: caFile ? await startingWith('--oidc-ca-file', () => readFile(caFile, 'utf8')) : undefined,
    usernameClaim: flags['oidc-username-claim'],
    usernamePrefix: flags['oidc-username-prefix'],
    groupsClaim: flags['oidc-groups-claim'],
    groupsPrefix: flags['oidc-groups-prefix'],
    signingAlgorithms: flags['oidc-signing-algs'],
    requiredClaims: flags['oidc-required-claim'],
  };
}

function webhookSettings(flags: IdentityFlags): TokenWebhookSettings | undefined {
  const kubeconfig = flags['authentication-token-webhook-config-file'];
  if (kubeconfig === '') return undefined;
  const { 'authentication-token-webhook-version': version, 'authentication-token-webhook-cache-ttl': cacheTtlMs } =
    flags;
  return { kubeconfig, version, cacheTtlMs };
}
