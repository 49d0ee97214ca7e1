// Removes objects and fields that an earlier version of a program wrote and this one no longer declares: configurations
// without hooks, and conversions. Otherwise API servers would call a webhook that nothing answers. Run by
// manager-hooks.ts while the process leads.
import {
  type Clock,
  delay,
  isForbidden,
  isNotFound,
  type KubernetesObject,
  type Logger,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import { Backoff, isJsonObject, type ProgramHooks } from '@kapstan/api/internal';
import {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';

export interface LeftoverPorts {
  readonly client: ResourceClient;
  /** Name of the configurations, and the field manager whose objects and fields are the program's own. */
  readonly name: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

const pauses = { initialMs: 800, maxMs: 30_000, factor: 2, jitter: 0.5, resetAfterMs: 120_000 } as const;

/** Resolves when nothing is left over. Never rejects. The resources are those that the program reconciles. */
export async function removeLeftovers(
  hooks: ProgramHooks,
  resources: readonly Resource[],
  { signal, ...ports }: LeftoverPorts & { readonly signal: AbortSignal },
): Promise<void> {
  const types = new Set(hooks.admission.map(({ type }) => type));
  const converted = new Set(hooks.conversions.map(({ definition }) => definition));
  // Kinds of groups without a dot are Kubernetes' own and have no definition.
  const definitions = new Set(
    resources.filter(({ group }) => group.includes('.')).map(({ plural, group }) => `${plural}.${group}`),
  );
  const works: ((leftovers: Leftovers) => Promise<void>)[] = [];
  if (!types.has('mutating')) works.push((leftovers) => leftovers.removeConfiguration(MutatingWebhookConfiguration));
  if (!types.has('validating'))
    works.push((leftovers) => leftovers.removeConfiguration(ValidatingWebhookConfiguration));
  for (const definition of definitions)
    if (!converted.has(definition)) works.push((leftovers) => leftovers.resetConversion(definition));
  const leftovers = new Leftovers(ports, signal);
  await Promise.all(works.map((work) => leftovers.untilDone(() => work(leftovers))));
}

class Leftovers {
  readonly #ports: LeftoverPorts;
  readonly #signal: AbortSignal;

  constructor(ports: LeftoverPorts, signal: AbortSignal) {
    this.#ports = ports;
    this.#signal = signal;
  }

  async untilDone(work: () => Promise<void>): Promise<void> {
    const { clock, logger } = this.#ports;
    const signal = this.#signal;
    const backoff = new Backoff(pauses, { clock });
    for (let told = ''; !signal.aborted; ) {
      try {
        await work();
        return;
      } catch (error) {
        // The object was removed by someone else; a program without permission to read has not written it either.
        if (signal.aborted || isNotFound(error) || isForbidden(error)) return;
        const text = error instanceof Error ? error.message : String(error);
        if (text !== told) logger.warn(`failed to remove earlier webhooks, trying again: ${text}`);
        told = text;
        await delay(clock, backoff.next(), signal).catch(() => undefined);
      }
    }
  }

  async removeConfiguration(resource: Resource): Promise<void> {
    const { client, name, logger } = this.#ports;
    const { metadata = {}, ...object } = await client.get(resource, { name }, { signal: this.#signal });
    if (appliedFields({ ...object, metadata }, name) === undefined) return;
    const { uid = '', resourceVersion = '' } = metadata;
    await client.delete(resource, { name }, { preconditions: { uid, resourceVersion }, signal: this.#signal });
    logger.info('deleted a configuration whose webhooks are gone', { kind: resource.kind, name });
  }

  async resetConversion(definition: string): Promise<void> {
    const { client, name, logger } = this.#ports;
    const target = { name: definition };
    const signal = this.#signal;
    const present = await client.get(CustomResourceDefinition, target, { signal });
    const { conversion } = present.spec;
    const fields = appliedFields(present, name)?.['f:spec'];
    const isOwn = isJsonObject(fields) && fields['f:conversion'] !== undefined;
    if (!isOwn || conversion?.strategy !== 'Webhook') return;
    // Applying without the field would leave the part that a second manager owns.
    const body = [
      { op: 'test', path: '/metadata/resourceVersion', value: present.metadata?.resourceVersion ?? '' },
      { op: 'replace', path: '/spec/conversion', value: { strategy: 'None' } },
    ];
    await client.patch(CustomResourceDefinition, target, { type: 'json', body }, { fieldManager: name, signal });
    logger.info('reset the conversion of a definition whose webhook is gone', { name: definition });
  }
}

/** Returns the fields that a manager has applied; undefined = none. */
function appliedFields({ metadata }: KubernetesObject, name: string): Readonly<Record<string, unknown>> | undefined {
  const entry = metadata?.managedFields?.find(({ manager, operation }) => manager === name && operation === 'Apply');
  return isJsonObject(entry?.fieldsV1) ? entry.fieldsV1 : undefined;
}
