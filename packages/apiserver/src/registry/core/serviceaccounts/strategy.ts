// Service accounts. Source: pkg/registry/core/serviceaccount. Tokens need a signing key: /token is refused by the facts' default.
import type { ServiceAccount } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';

export const serviceAccounts: BuiltinKind<ServiceAccount> = { id: 'v1/serviceaccounts', returnsDeletedObject: true };
