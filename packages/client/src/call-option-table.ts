// The options that every call takes, for calls that are not verbs of a ResourceClient: logs, streams, raw requests.
import type { CallOptions } from '@kapstan/api';
import {
  type OptionTable,
  objectWith,
  optional,
  requireFunction,
  requireNotNegative,
  requireSignal,
} from '@kapstan/api/internal';

export const callOptionTable: OptionTable<CallOptions> = {
  signal: requireSignal,
  timeoutMs: optional(requireNotNegative),
  beforeAttempt: requireFunction,
  trace: optional(objectWith('startCall')),
};
