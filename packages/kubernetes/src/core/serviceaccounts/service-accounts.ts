// Service accounts. Source: pkg/registry/core/serviceaccount. Without a signing key, /token answers 501 like every
// subresource that is not served.
import type { DeepReadonly } from '@kapstan/api';
import type { ServiceAccount } from '@kapstan/kinds/core/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { tokenSubresource } from './token-subresource.ts';

export function serviceAccounts(server: BuiltinServer): BuiltinKind<ServiceAccount> {
  const { tokens } = server;
  return {
    id: 'v1/serviceaccounts',
    strategy: { updateMetadata: 'both' },
    returnsDeletedObject: true,
    warnings: (next, old) => (isEnforced(next) && (old === undefined || !isEnforced(old)) ? [enforcedWarning] : []),
    prepareForCreate: keepSecretNames,
    prepareForUpdate: keepSecretNames,
    subresources: tokens === undefined ? [] : [tokenSubresource({ ...server, tokens })],
  };
}

const enforcement = 'kubernetes.io/enforce-mountable-secrets';
const enforcedWarning = `metadata.annotations[${enforcement}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`;

const isEnforced = ({ metadata }: DeepReadonly<ServiceAccount>): boolean =>
  Object.hasOwn(metadata?.annotations ?? {}, enforcement);

/** Only the names of a pod's usable secrets are kept. Source: cleanSecretReferences. */
function keepSecretNames(account: ServiceAccount): void {
  account.secrets &&= account.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}
