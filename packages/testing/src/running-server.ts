// RunningServer: one run of a test cluster's control plane: engine and server, started and stopped together.
import { join } from 'node:path';
import type { Clock, Logger } from '@kapstan/api';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from '@kapstan/control-plane';
import type { Engine, MemoryEngine } from '@kapstan/storage';
import { type LmdbEngine, openLmdbEngine } from '@kapstan/storage-lmdb';
import type { Activity } from './activity.ts';
import { TestEngine } from './test-engine.ts';

/** The settings with which a test's server starts again. */
export type ServerSettings = Omit<
  ControlPlaneOptions,
  'dataDir' | 'engine' | 'clock' | 'logger' | 'port' | 'bindAddress'
>;

export interface RunningServerOptions {
  readonly dataDir: string;
  /** Keeps the data of the cluster across runs. Undefined = LMDB in `dataDir`. */
  readonly memory: MemoryEngine | undefined;
  readonly settings: ServerSettings;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly activity: Activity;
}

export interface RunningServer {
  readonly controlPlane: ControlPlane;
  readonly engine: TestEngine;
  /** Closes server and store. Rejects with an Error when the store's tables contradict each other. Idempotent. */
  close(): Promise<void>;
}

/** Resolves when requests are answered. Rejects, with everything closed again, when something cannot start. */
export async function startServer(options: RunningServerOptions): Promise<RunningServer> {
  const { dataDir, memory, settings, clock, logger, activity } = options;
  const store = memory === undefined ? await openStore(options) : undefined;
  const engine = new TestEngine((memory ?? store) as Engine, activity);
  let controlPlane: ControlPlane;
  try {
    controlPlane = await startControlPlane({ freeze: true, ...settings, dataDir, engine, clock, logger });
  } catch (error) {
    await store?.close();
    throw error;
  }
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await controlPlane.close();
    if (store !== undefined) await closeChecked(store);
  };
  return {
    controlPlane,
    engine,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** The data are deleted with the cluster, so waiting for the disk would only take time. */
function openStore({ dataDir, clock, logger }: RunningServerOptions): Promise<LmdbEngine> {
  return openLmdbEngine({ dataDir: join(dataDir, 'store'), durability: 'process', clock, logger });
}

async function closeChecked(store: LmdbEngine): Promise<void> {
  const { problems } = await store.check();
  await store.close();
  if (problems.length > 0) throw new Error(`the store is not consistent: ${problems.join('; ')}`);
}
