import type { Clock, Logger, ResourceClient } from '@kapstan/api';

/** Arguments of the sample controller, the same on each layer. */
export interface RunOptions {
  readonly client: ResourceClient;
  /** The controller runs until it aborts. */
  readonly signal: AbortSignal;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Receives failures. Default: none are logged. */
  readonly logger?: Logger;
}
