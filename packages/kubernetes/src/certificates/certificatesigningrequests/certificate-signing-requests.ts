// Certificate signing requests. The server records the requester itself, because signers rely on it. Source:
// pkg/registry/certificates/certificates.
import { type DeepReadonly, deepCopy, formatTime } from '@kapstan/api';
import type { Field, StrategySubresource } from '@kapstan/apiserver/internal';
import { subresourceStrategy } from '@kapstan/apiserver/internal';
import type { CertificateSigningRequest } from '@kapstan/kinds/certificates.k8s.io/v1';
import type { BuiltinKind, BuiltinServer } from '../../builtin/builtin-kind.ts';
import { kindFactsOf } from '../../builtin/builtin-resource.ts';
import { validateRequest } from './request-validation.ts';
import { type StatusPart, validateRequestStatusChange, validateStatus } from './status-validation.ts';

const id = 'certificates.k8s.io/v1/certificatesigningrequests';

type Server = Pick<BuiltinServer, 'clock'>;
type Request = CertificateSigningRequest;

export function certificateSigningRequests(server: Server): BuiltinKind<Request> {
  return {
    id,
    strategy: { updateMetadata: 'both', resetFields: [['spec'], ['status']] },
    validateName: () => [],
    prepareForCreate: (object, { user }) => {
      const { username: _name, uid: _uid, groups: _groups, extra: _extra, ...asked } = object.spec;
      object.spec = {
        ...asked,
        username: user.name,
        ...(user.uid === undefined ? {} : { uid: user.uid }),
        groups: [...user.groups],
        ...(user.extra === undefined ? {} : { extra: deepCopy(user.extra) as Record<string, string[]> }),
      };
    },
    prepareForUpdate: keepSpec,
    validate: validateWhole,
    validateChange: (root, next, old) => validateRequestStatusChange(root.child('status'), { next, old }, 'none'),
    fields: ({ spec }) => ({ 'spec.signerName': spec?.signerName ?? '' }),
    status: {
      updateMetadata: 'both',
      resetFields: [['status', 'conditions']],
      prepare: (next, old) => {
        keepWords(next, old);
        fillTimes(next, old, server);
      },
      validate: (root, next, old) => validateUpdate(root, { next, old }, 'certificate'),
    },
    subresources: [approvalSubresource(server)],
  };
}

/** /approval changes only the conditions. */
function approvalSubresource(server: Server): StrategySubresource<Request> {
  const strategy = subresourceStrategy<Request>(kindFactsOf(id), {
    prepare: (next, old) => {
      fillTimes(next, old, server);
      const { conditions } = next.status ?? {};
      keepSpec(next, old);
      next.status = { ...(deepCopy(old.status ?? {}) as NonNullable<Request['status']>) };
      if (conditions === undefined) delete next.status.conditions;
      else next.status.conditions = conditions;
    },
    validate: (root, next, old) => validateUpdate(root, { next, old }, 'word'),
  });
  const resetFields = [['spec'], ['status', 'certificate']];
  return {
    type: 'strategy',
    name: 'approval',
    verbs: ['get', 'patch', 'update'],
    strategy: { ...strategy, updateMetadata: 'both', resetFields },
  };
}

function validateWhole(root: Field, object: DeepReadonly<Request>, old: DeepReadonly<Request> | undefined): void {
  validateRequest(root.child('spec'), object, old);
  validateStatus(root.child('status'), object, old);
}

function validateUpdate(
  root: Field,
  change: { readonly next: DeepReadonly<Request>; readonly old: DeepReadonly<Request> },
  part: StatusPart,
): void {
  validateWhole(root, change.next, change.old);
  validateRequestStatusChange(root.child('status'), change, part);
}

function keepSpec(next: Request, old: DeepReadonly<Request>): void {
  next.spec = deepCopy(old.spec) as Request['spec'];
}

/**
 * A signer does not approve: as long as the number of Approved and Denied conditions is the same, they keep their old
 * values.
 */
function keepWords(next: Request, old: DeepReadonly<Request>): void {
  for (const word of ['Approved', 'Denied']) {
    const before = (old.status?.conditions ?? []).filter(({ type }) => type === word);
    const conditions = next.status?.conditions ?? [];
    if (conditions.filter(({ type }) => type === word).length !== before.length) continue;
    let index = 0;
    for (const [place, { type }] of conditions.entries()) {
      if (type === word) conditions[place] = deepCopy(before[index++]) as (typeof conditions)[number];
    }
  }
}

/** Source: populateConditionTimestamps. */
function fillTimes(next: Request, old: DeepReadonly<Request>, { clock }: Server): void {
  const now = formatTime(clock.now());
  for (const condition of next.status?.conditions ?? []) {
    condition.lastUpdateTime ??= now;
    const same = old.status?.conditions?.find(
      ({ type, status, lastTransitionTime }) =>
        type === condition.type && status === condition.status && lastTransitionTime !== undefined,
    );
    condition.lastTransitionTime ??= same?.lastTransitionTime ?? now;
  }
}
