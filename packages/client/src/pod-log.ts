// The log subresource of pods: its options and its URL.

import { type CallOptions, type ObjectTarget, type Resource, resource } from '@kapstan/api';
import {
  type OptionTable,
  optional,
  requireBoolean,
  requireNotNegative,
  requireObject,
  requireOptions,
  requireString,
} from '@kapstan/api/internal';
import { callOptionTable } from './call-option-table.ts';
import { objectPath } from './request-path.ts';

/** `timeoutMs` bounds the time to the answer's headers. Source: core/v1 PodLogOptions. */
export interface PodLogOptions extends CallOptions {
  /** Default: the only container; with several, the server refuses. */
  readonly container?: string;
  /** Continues while the container runs. Default false. */
  readonly follow?: boolean;
  /** Reads the container before its last restart. Default false. */
  readonly previous?: boolean;
  /** Shows only lines not older than this, in seconds. */
  readonly sinceSeconds?: number;
  /** Shows only lines after this time, RFC 3339. */
  readonly sinceTime?: string;
  /** Adds the time before each line. Default false. */
  readonly timestamps?: boolean;
  /** Number of last lines to return. 0 = no old lines. */
  readonly tailLines?: number;
  readonly limitBytes?: number;
  /** The output stream of the container to return; cannot be combined with `tailLines`. Default: both, in the order written. */
  readonly stream?: 'All' | 'Stdout' | 'Stderr';
  /** Tells the server not to verify the kubelet's certificate, so the log may come from an impostor. Default false. */
  readonly insecureSkipTLSVerifyBackend?: boolean;
}

const optionTable: OptionTable<PodLogOptions> = {
  ...callOptionTable,
  container: optional(requireString),
  follow: optional(requireBoolean),
  previous: optional(requireBoolean),
  sinceSeconds: optional(requireNotNegative),
  sinceTime: optional(requireString),
  timestamps: optional(requireBoolean),
  tailLines: optional(requireNotNegative),
  limitBytes: optional(requireNotNegative),
  stream: optional(requireString),
  insecureSkipTLSVerifyBackend: optional(requireBoolean),
};

const pod: Resource = resource({ group: '', version: 'v1', kind: 'Pod' });

export function podLogPath(target: ObjectTarget, options: PodLogOptions): string {
  requireObject(options, 'options, such as { container },');
  requireOptions(options, optionTable, 'podLog');
  const { container, sinceSeconds, sinceTime, tailLines, limitBytes } = options;
  const { follow, previous, timestamps, stream, insecureSkipTLSVerifyBackend } = options;
  return objectPath(pod, target, {
    subresource: 'log',
    query: {
      container,
      follow: follow || undefined,
      previous: previous || undefined,
      sinceSeconds,
      sinceTime,
      timestamps: timestamps || undefined,
      tailLines,
      limitBytes,
      stream,
      insecureSkipTLSVerifyBackend: insecureSkipTLSVerifyBackend || undefined,
    },
  });
}
