// Installs custom resource definitions in a test cluster and waits until they are served.
import { delay, type KubernetesObject, type ResourceClient, systemClock } from '@kapstan/api';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';

const pollMs = 5;
const withinMs = 10_000;

/**
 * Creates the definitions and resolves when all are established. Rejects with the server's answer, and after 10 s with the conditions of a
 * definition that is not established.
 */
export async function installCrds(client: ResourceClient, crds: readonly KubernetesObject[]): Promise<void> {
  await Promise.all(
    crds.map(async (crd) => {
      const { metadata } = await client.create(CustomResourceDefinition, crd as CustomResourceDefinition);
      await waitUntilEstablished(client, metadata?.name ?? '');
    }),
  );
}

// Polls in real time, because a loop of the server in this process sets the conditions.
async function waitUntilEstablished(client: ResourceClient, name: string): Promise<void> {
  const deadlineMs = systemClock.monotonicNow() + withinMs;
  for (;;) {
    const { status } = await client.get(CustomResourceDefinition, { name });
    const conditions = status?.conditions ?? [];
    if (conditions.some(({ type, status: value }) => type === 'Established' && value === 'True')) return;
    if (systemClock.monotonicNow() > deadlineMs) {
      const trouble = conditions.map(({ type, message }) => `${type}: ${message}`).join('; ');
      throw new Error(`the definition ${name} was not established within ${withinMs} ms: ${trouble}`);
    }
    await delay(systemClock, pollMs);
  }
}
