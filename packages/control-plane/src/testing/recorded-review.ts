// Reviews of access in the short form of recorded decisions.

export type RecordedReview = readonly [
  who: string,
  verb: string,
  /** "group/resource/subresource", or "path:/a/path". */
  target: string,
  /** "namespace/name", or a name. */
  where: string,
  fieldSelector: string,
  expected: string,
];

/** Returns the review to send. */
export function reviewOf(
  users: Readonly<Record<string, object>>,
  [who, verb, target, where, selector]: RecordedReview,
): Readonly<Record<string, unknown>> {
  const spec = { ...users[who], ...attributesOf({ verb, target, where, selector }) };
  return { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
}

interface Asked {
  readonly verb: string;
  readonly target: string;
  readonly where: string;
  readonly selector: string;
}

function attributesOf({ verb, target, where, selector }: Asked): object {
  if (target.startsWith('path:')) return { nonResourceAttributes: { verb, path: target.slice(5) } };
  const [group, resource, ...rest] = target.split('/');
  const at = where.indexOf('/');
  const place = { namespace: at < 0 ? '' : where.slice(0, at), name: where.slice(at + 1) };
  const fieldSelector = selector === '' ? {} : { fieldSelector: { rawSelector: selector } };
  return { resourceAttributes: { verb, group, resource, subresource: rest.join('/'), ...place, ...fieldSelector } };
}

interface Status {
  readonly allowed: boolean;
  readonly denied?: boolean;
  readonly reason?: string;
  readonly evaluationError?: string;
}

/** Returns the status of an answered review in the short form: "allowed", "no: reason (error)". */
export function statusText(review: unknown): string {
  const { allowed, denied, reason = '', evaluationError } = (review as { readonly status: Status }).status;
  const decision = allowed ? 'allowed' : denied ? 'denied' : 'no';
  return `${decision}${reason ? `: ${reason}` : ''}${evaluationError ? ` (${evaluationError})` : ''}`;
}
