import { systemClock } from '@kapstan/api';
import { nextTurn } from '@kapstan/api/internal';
import { ResourceCatalog, type ResourceStack, WebhookPool } from '@kapstan/apiserver';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { afterEach, describe, expect, it } from 'vitest';
import { ConversionFunctions } from '../conversion/conversion-functions.ts';
import { ConversionMetrics } from '../conversion/conversion-metrics.ts';
import { ServedDefinition, type ServedDefinitionOptions } from './served-definition.ts';

const webhooks = new WebhookPool();
afterEach(() => webhooks.close());

function servedIn(catalog: ResourceCatalog, close: ResourceStack['close'] = async () => undefined): ServedDefinition {
  const createStack = (): ResourceStack =>
    ({
      waitUntilReady: () => Promise.resolve(),
      servedAs: (definition: object) => ({ definition, store: {} }),
      close,
    }) as unknown as ResourceStack;
  const conversions: ServedDefinitionOptions['conversions'] = {
    webhooks,
    functions: new ConversionFunctions({}),
    metrics: new ConversionMetrics(),
    clock: systemClock,
    newUid: () => 'a',
  };
  return new ServedDefinition({ catalog, createStack, conversions });
}

/** Returns a definition whose versions a webhook converts. `onEncode` is called when the first schema is encoded. */
function definitionOf(count: number, onEncode: () => void): CustomResourceDefinition {
  const openAPIV3Schema = { type: 'object' };
  const counted = Object.assign(Object.create({ toJSON: () => onEncode() }) as object, { openAPIV3Schema });
  const clientConfig = { url: 'https://127.0.0.1:1' };
  return {
    metadata: { name: 'as.example.com', uid: 'u', generation: 1 },
    spec: {
      ...{ group: 'example.com', scope: 'Namespaced', names: { plural: 'as', kind: 'A' } },
      conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } },
      versions: Array.from({ length: count }, (_, index) => ({
        ...{ name: `v${index + 1}`, served: true, storage: index === 0 },
        schema: index === 0 ? counted : { openAPIV3Schema },
      })),
    },
  };
}

describe('a definition of many served versions', () => {
  it('is encoded a few times, however many they are', async () => {
    let encoded = 0;
    const catalog = new ResourceCatalog();
    const served = servedIn(catalog);
    await served.serve(definitionOf(50, () => encoded++));
    expect(catalog.all()).toHaveLength(50);
    expect(encoded).toBeGreaterThan(0);
    expect(encoded).toBeLessThan(5);
    await served.close();
  });

  it('removes them in turns when it goes', async () => {
    const catalog = new ResourceCatalog();
    const served = servedIn(catalog);
    await served.serve(definitionOf(50, () => undefined));
    const closing = served.close();
    await nextTurn();
    expect(catalog.all().length).toBeGreaterThan(40);
    await closing;
    expect(catalog.all()).toEqual([]);
  });

  it('leaves the catalog with all of them where the stores of some cannot be closed, which are closed again later', async () => {
    const catalog = new ResourceCatalog();
    const failing = [true, false, true];
    let closes = 0;
    const served = servedIn(catalog, async () => {
      if (failing[closes++]) throw new Error('not now');
    });
    const { spec, metadata } = definitionOf(3, () => undefined);
    await served.serve({ metadata, spec: { ...spec, conversion: { strategy: 'None' } } } as CustomResourceDefinition);
    const error: unknown = await served.close().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ errors: [{ message: 'not now' }, { message: 'not now' }] });
    expect([catalog.all(), closes]).toEqual([[], 3]);
    await served.close();
    await served.close();
    expect(closes).toBe(5);
  });
});
