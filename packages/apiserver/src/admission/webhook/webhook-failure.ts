// The errors of webhooks: a failed call, which the failure policy may ignore, and a denial.
import { type Status, StatusError, type StatusReason } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { type DenialStatus, goQuote } from '@kapstan/api/internal';

/** A call without a usable answer. */
export class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError';
  /** For metrics: the code of the webhook's refusal, otherwise 503; 400 for a call that was never sent. */
  readonly code: number;

  constructor(webhook: string, { why, code, cause }: { why: string; code: number; cause?: unknown }) {
    super(`failed calling webhook ${goQuote(webhook)}: ${why}`, { cause });
    this.code = code;
  }

  /** Returns the answer to the client where the failure policy is Fail. */
  get status(): StatusError {
    return internalError(this);
  }
}

/** Returns the answer for a request that a webhook denies. */
export function denial(webhook: string, status: DenialStatus = {}): StatusError {
  const { message = '', reason = '', code = 0, details, metadata } = status;
  const by = `admission webhook ${goQuote(webhook)} denied the request`;
  const why = message || reason;
  return new StatusError({
    code: Math.max(400, code),
    reason: reason as StatusReason,
    message: why === '' ? `${by} without explanation` : `${by}: ${why}`,
    details,
    metadata,
    // A status reason chosen by the webhook is passed on as in kube-apiserver, but a denial is never a success.
    status: status.status === '' || status.status === 'Success' ? undefined : (status.status as Status['status']),
  });
}
