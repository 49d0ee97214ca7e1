// A manager with many objects and a controller that fails, for the tests and the pictures of the inspector.
import { silentLogger } from '@kapstan/api';
import { configMap, FakeListerWatcher, testConfigMaps } from '@kapstan/api/testing';
import { controller, Manager } from '@kapstan/controller';

/** Returns a client of objects in memory; writes are answered with the sent object. */
function clientOf(maps: FakeListerWatcher<ReturnType<typeof configMap>>): never {
  let version = 1_000_000;
  const written = async (_kind: unknown, object: { metadata: object }) => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: String(++version) },
  });
  return { listerWatcher: () => maps, apply: written, create: written } as never;
}

export interface InspectedManager {
  readonly url: string;
  readonly maps: FakeListerWatcher<ReturnType<typeof configMap>>;
  /** A value that must not be shown. */
  readonly secret: string;
  /** Returns an object that is not there yet. */
  another(): ReturnType<typeof configMap>;
  close(): Promise<void>;
}

/** Starts it. Three of four reconciles fail; the error holds a value that must not be shown. */
export async function startInspectedManager(objects: number): Promise<InspectedManager> {
  const secret = 'hunter2-correct-horse';
  const mapOf = (name: string) => ({ ...configMap({ name }), data: { password: secret } });
  const maps = new FakeListerWatcher<ReturnType<typeof configMap>>();
  for (let index = 0; index < objects; index++) maps.add(mapOf(`map-${String(index).padStart(5, '0')}`));
  let runs = 0;
  const copy = controller(testConfigMaps, { name: 'copier' }).reconcile(async ({ metadata }, { client }) => {
    await client.apply(testConfigMaps, configMap({ name: `${metadata.name}-copy` }), { fieldManager: 'x' } as never);
    if (runs++ % 4 !== 0) throw new Error(`the other side refused: Invalid value: "${secret}"`);
  });
  const quiet = controller(testConfigMaps, { name: 'follower' }).reconcile(async () => undefined);
  const stop = new AbortController();
  const manager = new Manager([copy, quiet], {
    client: clientOf(maps),
    logger: silentLogger,
    inspect: true,
    ownWritesTimeoutMs: 0,
  });
  const running = manager.run(stop.signal);
  await manager.whenReady();
  return {
    url: manager.inspectorUrl ?? '',
    maps,
    secret,
    another: () => mapOf(`another-${runs++}`),
    close: async () => {
      stop.abort();
      await running;
    },
  };
}
