// The configuration of EventRateLimit: how many events may be written per second, by user, by source or about an
// object. Source: plugin/pkg/admission/eventratelimit/apis/eventratelimit.
import {
  aggregateTexts,
  type FieldError,
  formatFieldError,
  invalidField,
  notSupportedField,
} from '@kapstan/api/errors';
import {
  decodeConfiguration,
  fileSchema,
  integerSchema,
  listSchema,
  structSchema,
  textSchema,
} from '@kapstan/apiserver/internal';

const limitTypes = ['Server', 'Namespace', 'User', 'SourceAndObject'] as const;

type LimitType = (typeof limitTypes)[number];

export interface EventLimit {
  readonly type: LimitType;
  /** Long-term rate of events per second. */
  readonly qps: number;
  /** Number of events that may arrive at once. */
  readonly burst: number;
  /**
   * Number of namespaces, users or objects whose events are counted at the same time; the least recently seen one loses
   * its count.
   */
  readonly cacheSize: number;
}

const defaultCacheSize = 4096;
const kinds = new Map([['eventratelimit.admission.k8s.io/v1alpha1', 'Configuration']]);
const schema = fileSchema('v1alpha1.Configuration', {
  limits: listSchema(
    structSchema('v1alpha1.Limit', {
      type: textSchema,
      qps: integerSchema,
      burst: integerSchema,
      cacheSize: integerSchema,
    }),
  ),
});

/**
 * Throws an Error that describes the fault; there must be at least one limit. Unknown fields are ignored, as by
 * kube-apiserver.
 */
export function parseEventLimits(text: string | undefined): readonly EventLimit[] {
  const decoded = text === undefined ? { limits: [] } : decodeConfiguration(text, { kinds, schema, isLenient: true });
  const { limits = [] } = decoded as { readonly limits?: readonly Partial<EventLimit>[] };
  const errors =
    limits.length === 0
      ? [invalidField('limits', null, 'must not be empty')]
      : limits.flatMap((limit, index) => limitErrors(limit, `limits[${index}]`));
  if (errors.length > 0) throw new Error(aggregateTexts(errors.map(formatFieldError)));
  return limits.map(({ type = 'Server', qps = 0, burst = 0, cacheSize = 0 }) => ({
    type,
    qps,
    burst,
    cacheSize: cacheSize || defaultCacheSize,
  }));
}

function limitErrors({ type, qps = 0, burst = 0, cacheSize = 0 }: Partial<EventLimit>, at: string): FieldError[] {
  const isKnown = type !== undefined && limitTypes.includes(type);
  return [
    ...(isKnown ? [] : [notSupportedField(`${at}.type`, type ?? '', limitTypes)]),
    ...(burst > 0 ? [] : [invalidField(`${at}.burst`, burst, 'must be positive')]),
    ...(qps > 0 ? [] : [invalidField(`${at}.qps`, qps, 'must be positive')]),
    ...(type === 'Server' || cacheSize >= 0
      ? []
      : [invalidField(`${at}.cacheSize`, cacheSize, 'must not be negative')]),
  ];
}
