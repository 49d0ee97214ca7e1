// root-ca-certificate-publisher-controller publishes the server's authority as a ConfigMap in each active namespace, for the token
// volumes of pods. Source: pkg/controller/certificates/rootcacertpublisher.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import type { ControlLoop } from './control-loop.ts';
import { keepInNamespaces } from './namespaced-object-loop.ts';

const rootCaConfigMapName = 'kube-root-ca.crt';
const descriptionAnnotation = 'kubernetes.io/description';
const description = "Certificate authority of this cluster's API server, to be trusted by clients inside the cluster.";

export const rootCaCertificatePublisher: ControlLoop = (context, signal) => {
  const data = { 'ca.crt': context.caCert };
  const annotations = { [descriptionAnnotation]: description };
  return keepInNamespaces(
    context,
    {
      resource: ConfigMap,
      name: rootCaConfigMapName,
      ensure: async (namespace, present) => {
        if (present === undefined) {
          const metadata = { name: rootCaConfigMapName, namespace, annotations };
          await context.client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata, data }, { signal });
          return;
        }
        if (isCurrent(present, context.caCert)) return;
        const next = deepCopy(present) as ConfigMap;
        next.data = data;
        next.metadata = { ...next.metadata, annotations: { ...next.metadata?.annotations, ...annotations } };
        await context.client.update(ConfigMap, next, { signal });
      },
    },
    signal,
  );
};

function isCurrent({ data = {}, metadata }: DeepReadonly<ConfigMap>, caCert: string): boolean {
  if (metadata?.annotations?.[descriptionAnnotation] === undefined) return false;
  return Object.keys(data).length === 1 && data['ca.crt'] === caCert;
}
