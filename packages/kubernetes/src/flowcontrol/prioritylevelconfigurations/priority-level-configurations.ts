// Priority levels. Source: pkg/apis/flowcontrol/v1/defaults.go, pkg/apis/flowcontrol/validation ValidatePriorityLevelConfigurationSpec.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type {
  LimitedPriorityLevelConfiguration,
  LimitResponse,
  PriorityLevelConfiguration,
  QueuingConfiguration,
} from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateConditionTypes } from '../conditions.ts';
import { validateMandatoryLevel } from '../mandatory-specs.ts';

export const priorityLevelConfigurations: BuiltinKind<PriorityLevelConfiguration> = {
  id: 'flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
  strategy: { updateMetadata: 'whole' },
  setDefaults: ({ spec }) => {
    const { exempt, limited } = spec ?? {};
    if (exempt !== undefined) {
      exempt.nominalConcurrencyShares ??= 0;
      exempt.lendablePercent ??= 0;
    }
    if (limited === undefined) return;
    limited.nominalConcurrencyShares ??= 30;
    limited.lendablePercent ??= 0;
    const queuing = limited.limitResponse?.queuing;
    if (queuing === undefined) return;
    queuing.queues ||= 64;
    queuing.handSize ||= 8;
    queuing.queueLengthLimit ||= 50;
  },
  validate: (root, { metadata, spec, status }) => {
    if (metadata?.annotations?.[keepZeroShares] !== undefined)
      root.child('metadata', 'annotations').forbidden(`annotation '${keepZeroShares}' is forbidden`);
    validateSpec(root.child('spec'), spec ?? {}, metadata?.name ?? '');
    validateMandatoryLevel(root.child('spec'), spec ?? {}, metadata?.name ?? '');
    validateConditionTypes(root.child('status', 'conditions'), status?.conditions);
  },
  status: {
    updateMetadata: 'none',
    keepsMetadata: true,
    validate: (root, { status }) => validateConditionTypes(root.child('status', 'conditions'), status?.conditions),
  },
};

/** An annotation of v1beta3, which is no longer served. */
const keepZeroShares = 'flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares';

type Spec = Partial<DeepReadonly<NonNullable<PriorityLevelConfiguration['spec']>>>;

function validateSpec(at: Field, { type = '', exempt, limited }: Spec, name: string): void {
  const place = at.child('type');
  if ((name === 'exempt') !== (type === 'Exempt'))
    place.invalid(type, "must be 'Exempt' if and only if `name` is 'exempt'");
  if (type === 'Exempt') {
    if (limited !== undefined) at.child('limited').forbidden('must be nil if the type is not Limited');
    validateShares(at.child('exempt'), exempt ?? {});
    validateLendable(at.child('exempt'), exempt ?? {});
  } else if (type === 'Limited') {
    if (exempt !== undefined) at.child('exempt').forbidden('must be nil if the type is Limited');
    if (limited === undefined) at.child('limited').required('must not be empty when type is Limited');
    else validateLimited(at.child('limited'), limited);
  } else if (place.present(type)) place.notSupported(type, ['Exempt', 'Limited']);
}

interface Shares {
  readonly nominalConcurrencyShares?: number;
  readonly lendablePercent?: number;
}

function validateShares(at: Field, { nominalConcurrencyShares: shares = 0 }: Shares): void {
  if (shares < 0) at.child('nominalConcurrencyShares').invalid(shares, 'must be a non-negative integer');
}

function validateLendable(at: Field, { lendablePercent = 0 }: Shares): void {
  if (lendablePercent < 0 || lendablePercent > 100)
    at.child('lendablePercent').invalid(lendablePercent, 'must be between 0 and 100, inclusive');
}

function validateLimited(at: Field, limited: DeepReadonly<LimitedPriorityLevelConfiguration>): void {
  validateShares(at, limited);
  validateResponse(at.child('limitResponse'), limited.limitResponse ?? {});
  validateLendable(at, limited);
  const limit = limited.borrowingLimitPercent ?? 0;
  if (limit < 0) at.child('borrowingLimitPercent').invalid(limit, 'if specified, must be a non-negative integer');
}

function validateResponse(at: Field, { type = '', queuing }: Partial<DeepReadonly<LimitResponse>>): void {
  const place = at.child('queuing');
  if (type === 'Reject') {
    if (queuing !== undefined) place.forbidden('must be nil if limited.limitResponse.type is not Limited');
  } else if (type === 'Queue') {
    if (queuing === undefined) place.required('must not be empty if limited.limitResponse.type is Limited');
    else validateQueuing(place, queuing);
  } else if (at.child('type').present(type)) at.child('type').notSupported(type, ['Queue', 'Reject']);
}

const maxQueues = 10_000_000;
/** Bits used of one 64-bit hash; the rest is a reserve. Source: shufflesharding.MaxHashBits. */
const maxHashBits = 60;

function validateQueuing(at: Field, queuing: DeepReadonly<QueuingConfiguration>): void {
  const { queueLengthLimit = 0, queues = 0, handSize = 0 } = queuing;
  if (queueLengthLimit <= 0) at.child('queueLengthLimit').invalid(queueLengthLimit, 'must be positive');
  if (queues <= 0) at.child('queues').invalid(queues, 'must be positive');
  else if (queues > maxQueues) at.child('queues').invalid(queues, `must not be greater than ${maxQueues}`);
  const hand = at.child('handSize');
  if (handSize <= 0) hand.invalid(handSize, 'must be positive');
  else if (handSize > queues) hand.invalid(handSize, `should not be greater than queues (${queues})`);
  else if (Math.ceil(Math.log2(queues) * handSize) > maxHashBits) {
    hand.invalid(
      handSize,
      `required entropy bits of deckSize ${queues} and handSize ${handSize} should not be greater than ${maxHashBits}`,
    );
  }
}
