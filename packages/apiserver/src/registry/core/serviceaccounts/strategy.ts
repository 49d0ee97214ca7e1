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
    subresources: tokens === undefined ? [] : [tokenSubresource({ ...server, tokens })],
  };
}
