// Holds requests back until the webhooks or policies that may concern them are known. Source: admission.Handler.
import { type Clock, delay } from '@kapstan/api';
import type { AdmissionAttributes } from '../../registry/store/admission-control.ts';
import { refuse } from '../plugin/admission-plugin.ts';

/** Maximum wait of a request until the configurations are known, and the interval between checks. */
const readyMs = 10_000;
const lookMs = 50;

/** Rejects with 403 while the source is not known, because it could forbid the request. */
export async function requireReady(
  source: { readonly hasSynced: boolean },
  attributes: AdmissionAttributes,
  { clock }: { readonly clock: Clock },
): Promise<void> {
  if (source.hasSynced) return;
  const { signal } = attributes.context;
  const untilMs = clock.monotonicNow() + readyMs;
  while (!source.hasSynced && clock.monotonicNow() < untilMs) {
    signal?.throwIfAborted?.();
    await delay(clock, lookMs, signal);
  }
  if (!source.hasSynced) throw refuse(attributes, 'not yet ready to handle request');
}
