// serviceaccount-controller keeps the service account "default" in each active namespace. Source: pkg/controller/serviceaccount.
import { isAlreadyExists } from '@kapstan/api';
import { ServiceAccount } from '@kapstan/kinds/core/v1';
import type { ControlLoop } from './control-loop.ts';
import { keepInNamespaces } from './namespaced-object-loop.ts';

export const defaultAccountName = 'default';

export const serviceAccountController: ControlLoop = (context, signal) =>
  keepInNamespaces(
    context,
    {
      resource: ServiceAccount,
      name: defaultAccountName,
      ensure: async (namespace, present) => {
        if (present !== undefined) return;
        const metadata = { name: defaultAccountName, namespace };
        await context.client
          .create(ServiceAccount, { apiVersion: 'v1', kind: 'ServiceAccount', metadata }, { signal })
          .catch((error: unknown) => {
            // The account exists already; the cache did not show it yet.
            if (!isAlreadyExists(error)) throw error;
          });
      },
    },
    signal,
  );
