// The authorization flags of `kapstan serve`, under kube-apiserver's names. Part of serve-flags.ts; serve.ts turns them into options.
// Source: pkg/kubeapiserver/options/authorization.go, from which the error texts are taken.

import { goQuote } from '@kapstan/api/internal';
import {
  type AuthorizationMode,
  type AuthorizationSettings,
  authorizationModes,
} from '../authorization/authorization-settings.ts';
import { anyDurationFlag, type Flag, listFlag, stringFlag, untilGiven } from './flag-set.ts';

export interface AuthorizationFlags {
  readonly 'authorization-mode': readonly string[];
  readonly 'authorization-policy-file': string;
  readonly 'authorization-webhook-config-file': string;
  /** Undefined = not given. */
  readonly 'authorization-webhook-version': string | undefined;
  /** Undefined = not given. */
  readonly 'authorization-webhook-cache-authorized-ttl': number | undefined;
  readonly 'authorization-webhook-cache-unauthorized-ttl': number | undefined;
  readonly 'authorization-config': string;
}

/** The default, which is distinguished from the same list given by the user. */
const defaultModes: readonly string[] = ['RBAC'];

export const authorizationFlags: { readonly [K in keyof AuthorizationFlags]: Flag<AuthorizationFlags[K]> } = {
  'authorization-mode': listFlag(
    `Ordered list of authorizers to consult: ${authorizationModes.join(', ')}. AlwaysAllow is for tests only.`,
    defaultModes,
  ),
  'authorization-policy-file': stringFlag(
    'Path to a file with authorization policies in JSON, one per line, used with --authorization-mode=ABAC.',
  ),
  'authorization-webhook-config-file': stringFlag(
    'Path to a webhook configuration in kubeconfig format, used with --authorization-mode=Webhook. The server asks the remote service about access.',
  ),
  'authorization-webhook-version': untilGiven(
    stringFlag(
      'API version of the authorization.k8s.io SubjectAccessReview to send to and expect from the webhook: v1 or v1beta1.',
      'v1beta1',
    ),
  ),
  'authorization-webhook-cache-authorized-ttl': untilGiven(
    anyDurationFlag(
      "How long 'authorized' responses of the authorization webhook are cached. 0 disables caching them.",
      300_000,
    ),
  ),
  'authorization-webhook-cache-unauthorized-ttl': untilGiven(
    anyDurationFlag(
      "How long 'unauthorized' responses of the authorization webhook are cached. 0 disables caching them.",
      30_000,
    ),
  ),
  'authorization-config': stringFlag(
    'Path to an AuthorizationConfiguration that lists the authorizers. Mutually exclusive with --authorization-mode and the --authorization-webhook-* flags.',
  ),
};

/** Source: BuiltInAuthorizationOptions.Validate. */
export function authorizationFlagErrors(flags: AuthorizationFlags): readonly string[] {
  if (flags['authorization-config'] !== '') return hasLegacyFlags(flags) ? [exclusion] : [];
  const modes = flags['authorization-mode'];
  if (modes.length === 0) return ['at least one authorization-mode must be passed'];
  const files = [
    { flag: 'authorization-policy-file', mode: 'ABAC', what: 'policy' },
    { flag: 'authorization-webhook-config-file', mode: 'Webhook', what: 'config' },
  ] as const;
  const errors = modes.flatMap((mode) => [
    ...(isKnown(mode) ? [] : [`authorization-mode ${goQuote(mode)} is not a valid mode`]),
    ...files
      .filter((file) => file.mode === mode && flags[file.flag] === '')
      .map(({ what }) => `authorization-mode ${mode}'s authorization ${what} file not passed`),
  ]);
  const unused = files.filter(({ flag, mode }) => flags[flag] !== '' && !modes.includes(mode));
  errors.push(...unused.map(({ flag, mode }) => `cannot specify --${flag} without mode ${mode}`));
  if (new Set(modes).size < modes.length)
    errors.push(`authorization-mode [${modes.map(goQuote).join(' ')}] has mode specified more than once`);
  return errors;
}

function isKnown(mode: string): boolean {
  return (authorizationModes as readonly string[]).includes(mode);
}

const exclusion =
  '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined';

/** True when a flag is given that a configuration file replaces. */
function hasLegacyFlags(flags: AuthorizationFlags): boolean {
  return (
    flags['authorization-mode'] !== defaultModes ||
    flags['authorization-webhook-config-file'] !== '' ||
    flags['authorization-webhook-version'] !== undefined ||
    flags['authorization-webhook-cache-authorized-ttl'] !== undefined ||
    flags['authorization-webhook-cache-unauthorized-ttl'] !== undefined
  );
}

/** Returns true when the flags let every authenticated user do everything. */
export function allowsEverything(
  flags: Pick<AuthorizationFlags, 'authorization-mode' | 'authorization-config'>,
): boolean {
  return flags['authorization-config'] === '' && flags['authorization-mode'].includes('AlwaysAllow');
}

/** The flags have been checked. */
export function authorizationFromFlags(flags: AuthorizationFlags): AuthorizationSettings {
  const given = (name: 'authorization-policy-file' | 'authorization-config') =>
    flags[name] === '' ? undefined : flags[name];
  const configFile = flags['authorization-webhook-config-file'];
  const webhook = {
    configFile,
    version: flags['authorization-webhook-version'],
    authorizedTtlMs: flags['authorization-webhook-cache-authorized-ttl'],
    unauthorizedTtlMs: flags['authorization-webhook-cache-unauthorized-ttl'],
  };
  return {
    modes: flags['authorization-mode'] as readonly AuthorizationMode[],
    policyFile: given('authorization-policy-file'),
    webhook: configFile === '' ? undefined : webhook,
    configFile: given('authorization-config'),
  };
}
