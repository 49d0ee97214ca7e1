// PodSecurityMetrics counts the decisions of pod security, under Kubernetes' names. Filled by pod-security.ts, shown by
// /metrics. Source: pod-security-admission/metrics.

import { LabelSeries, type Labels, type MetricFamily } from '@kapstan/api/internal';
import type { AdmissionAttributes } from '@kapstan/apiserver';
import type { LevelVersion } from './level-version.ts';
import type { Mode } from './namespace-policy.ts';

/** Minor version of the Kubernetes from which the rules come. Policies of later ones count as "future". */
const apiMinor = 36;

type Counter = { count: number };

export class PodSecurityMetrics {
  readonly #evaluations = new LabelSeries<Counter>(() => ({ count: 0 }));
  readonly #exemptions = new LabelSeries<Counter>(() => ({ count: 0 }));
  readonly #errors = new LabelSeries<Counter>(() => ({ count: 0 }));

  countEvaluation(
    attributes: AdmissionAttributes,
    {
      mode,
      policy,
      decision,
    }: { readonly mode: Mode; readonly policy: LevelVersion; readonly decision: 'allow' | 'deny' },
  ): void {
    const key = `${decision} ${policy.level} ${versionLabel(policy)} ${mode} ${requestKey(attributes)}`;
    this.#evaluations.of(key, () => ({
      decision,
      policy_level: policy.level,
      policy_version: versionLabel(policy),
      mode,
      ...requestLabels(attributes),
    })).count += 1;
  }

  countExemption(attributes: AdmissionAttributes): void {
    this.#exemptions.of(requestKey(attributes), () => requestLabels(attributes)).count += 1;
  }

  /** `fatal`: the request was not evaluated. */
  countError(attributes: AdmissionAttributes, fatal: boolean): void {
    const key = `${fatal} ${requestKey(attributes)}`;
    this.#errors.of(key, () => ({ fatal: String(fatal), ...requestLabels(attributes) })).count += 1;
  }

  families(): MetricFamily[] {
    return [
      family('evaluations', 'Evaluations of pods and templates, by decision and policy.', this.#evaluations),
      family('exemptions', 'Requests that were exempt from pod security.', this.#exemptions),
      family('errors', 'Requests whose policy could not be read or evaluated.', this.#errors),
    ];
  }
}

function family(what: string, help: string, series: LabelSeries<Counter>): MetricFamily {
  return { name: `pod_security_${what}_total`, help, type: 'counter', samples: series.samples(({ count }) => count) };
}

function versionLabel({ level, version }: LevelVersion): string {
  if (level === 'privileged' || version === 'latest') return 'latest';
  return version > apiMinor ? 'future' : `v1.${version}`;
}

function requestKey({ operation, resource, subresource }: AdmissionAttributes): string {
  return `${operation} ${resource.group}/${resource.resource}/${subresource}`;
}

function requestLabels({ operation, resource, subresource }: AdmissionAttributes): Labels {
  const isCore = resource.group === '';
  const isPod = isCore && resource.resource === 'pods';
  const other = isCore && resource.resource === 'namespaces' ? 'namespace' : 'controller';
  return { request_operation: operation.toLowerCase(), resource: isPod ? 'pod' : other, subresource };
}
