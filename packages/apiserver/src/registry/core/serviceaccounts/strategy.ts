// Service accounts. Source: pkg/registry/core/serviceaccount. Without a signing key /token is refused by the facts' default.
import type { ServiceAccount } from '@kapstan/kinds/core/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin-kind.ts';
import { tokenSubresource } from './token-subresource.ts';

export function serviceAccounts(server: BuiltinServer): BuiltinKind<ServiceAccount> {
  const { tokens } = server;
  return {
    id: 'v1/serviceaccounts',
    strategy: { updateMetadata: 'both' },
    returnsDeletedObject: true,
    prepareForCreate: keepSecretNames,
    prepareForUpdate: keepSecretNames,
    subresources: tokens === undefined ? [] : [tokenSubresource({ ...server, tokens })],
  };
}

/** Of the secrets that pods may use only the names count. Source: cleanSecretReferences. */
function keepSecretNames(account: ServiceAccount): void {
  account.secrets &&= account.secrets.map(({ name }) => (name === undefined ? {} : { name }));
}
