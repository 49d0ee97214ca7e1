// The clients that far-wire.mjs compares: each lists the pods of a namespace in one answer, and opens watches on them.
import { Client as Kapstan } from '@kapstan/client';
import { Pod } from '@kapstan/kinds/core/v1';
import { CoreV1Api, KubeConfig, Watch } from '@kubernetes/client-node';

const namespace = 'bench';

export const Client = {
  kapstan: ({ url, token, ca, wire, watches }) => {
    const client = new Kapstan({ server: url, token, tls: { ca } }, { compression: false, ...wire, listTimeoutMs: 0 });
    return {
      warmUp: () => client.listPage(Pod, { namespace, limit: 1 }),
      list: async () => {
        const { items, resourceVersion } = await client.listPage(Pod, { namespace });
        return { count: items.length, resourceVersion };
      },
      watch: (resourceVersion, onEvent) =>
        Promise.all(
          Array.from(
            { length: watches },
            () =>
              new Promise((onOpen, reject) => {
                client
                  .watch(Pod, { namespace, resourceVersion, onOpen })
                  .subscribe({ next: ({ type }) => type === 'BOOKMARK' || onEvent(), error: reject });
              }),
          ),
        ),
    };
  },
  'client-node': ({ url, token, ca, watches }) => {
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'c', server: url, caData: Buffer.from(ca).toString('base64'), skipTLSVerify: false },
      { name: 'u', token },
    );
    const core = config.makeApiClient(CoreV1Api);
    return {
      warmUp: () => core.listNamespacedPod({ namespace, limit: 1 }),
      list: async () => {
        const { items, metadata } = await core.listNamespacedPod({ namespace });
        return { count: items.length, resourceVersion: metadata.resourceVersion };
      },
      watch: async (resourceVersion, onEvent) => {
        const open = () =>
          new Watch(config).watch(
            `/api/v1/namespaces/${namespace}/pods`,
            { resourceVersion },
            onEvent,
            () => undefined,
          );
        await Promise.all(Array.from({ length: watches }, open));
      },
    };
  },
};
