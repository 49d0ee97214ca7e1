// Parses an audit policy file: YAML or JSON, the kind Policy of audit.k8s.io/v1. It is read at the start and becomes an
// AuditPolicy. Source: apiserver pkg/audit/policy (reader.go), apis/audit/validation (1.36).

import {
  dnsSubdomainErrors,
  type FieldError,
  formatFieldError,
  invalidField,
  notSupportedField,
  requiredField,
} from '@kapstan/api/errors';
import { formatApiVersion, type GroupVersionKind } from '@kapstan/api/internal';
import { listSchema, structSchema, textSchema, textsSchema } from '../schema/configuration-file.ts';
import { interpretKind, kindRegistry, readDocument } from '../schema/decode-object.ts';
import { StrictErrors, strictDecodingText } from '../schema/field-validation.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { DecodeError, decodeTyped } from '../schema/typed-decoder.ts';
import { auditEventKind } from './audit-event.ts';
import { type AuditedResources, type AuditPolicy, type AuditRule, auditLevels, auditStages } from './audit-policy.ts';

export interface AuditPolicyFile {
  readonly policy: AuditPolicy;
  /** Names the unknown and repeated fields, which are ignored; undefined when there are none. */
  readonly warning: string | undefined;
}

/** The kind of a file that does not name one. */
const assumed = { group: 'audit.k8s.io', version: '__internal', kind: 'Policy' };
const apiVersion = 'audit.k8s.io/v1';
/** Other kinds that are registered in the group. */
const otherKinds: ReadonlySet<string> = new Set([auditEventKind, `${auditEventKind}List`, 'PolicyList']);

/** Parses the file. Throws an Error that describes the fault and its place. */
export function parseAuditPolicy(text: string): AuditPolicyFile {
  const strict = new StrictErrors();
  const policy = decodePolicy(text, strict);
  const { rules = [] } = policy as Partial<AuditPolicy>;
  const errors = policyErrors({ ...policy, rules });
  if (errors.length > 0) throw new Error(aggregated(errors.map(formatFieldError)));
  if (rules.length === 0) throw new Error('loaded illegal policy with 0 rules');
  const complaints = strict.texts();
  return { policy, warning: complaints.length === 0 ? undefined : strictDecodingText(complaints) };
}

function decodePolicy(text: string, strict: StrictErrors): AuditPolicy {
  try {
    const { value, repeats } = readDocument(text, { mediaType: 'application/yaml' }, strict);
    const gvk = interpretKind(value, assumed);
    if (gvk.version !== assumed.version) refuseOtherKind(gvk);
    const decoded = decodeTyped(value ?? {}, { schema: policySchema, strict, repeats, words: 'json' }) as AuditPolicy;
    if (gvk.version !== assumed.version) return decoded;
  } catch (error) {
    throw new Error(`failed decoding: ${(error as Error).message}`, { cause: error });
  }
  throw new Error(`unknown group version field ${assumed.group}/${assumed.version}, Kind=${assumed.kind} in policy`);
}

function refuseOtherKind({ kind, ...groupVersion }: GroupVersionKind): void {
  const said = formatApiVersion(groupVersion);
  if (said !== apiVersion || (kind !== assumed.kind && !otherKinds.has(kind))) {
    throw new DecodeError(`no kind "${kind}" is registered for version "${said}" ${kindRegistry}`);
  }
  if (kind === assumed.kind) return;
  throw new DecodeError(`converting (v1.${kind}) to (audit.${assumed.kind}): unknown conversion`);
}

/** Joins texts as apimachinery's errors.Aggregate does. */
function aggregated(texts: readonly string[]): string {
  const [first = '', ...others] = new Set(texts);
  return others.length === 0 ? first : `[${[first, ...others].join(', ')}]`;
}

function policyErrors({ rules, omitStages = [] }: AuditPolicy): readonly FieldError[] {
  return [
    ...stageErrors(omitStages, 'omitStages'),
    ...rules.flatMap((rule, index) => ruleErrors(rule, `rules[${index}]`)),
  ];
}

function ruleErrors(rule: AuditRule, at: string): readonly FieldError[] {
  const {
    level = '',
    nonResourceURLs = [],
    resources = [],
    namespaces = [],
    omitStages = [],
  } = rule as Partial<AuditRule>;
  const both = 'rules cannot apply to both regular resources and non-resource URLs';
  return [
    ...levelErrors(level, `${at}.level`),
    ...urlErrors(nonResourceURLs, `${at}.nonResourceURLs`),
    ...resources.flatMap((audited) => resourceErrors(audited, `${at}.resources`)),
    ...stageErrors(omitStages, `${at}.omitStages`),
    ...(nonResourceURLs.length > 0 && (resources.length > 0 || namespaces.length > 0)
      ? [invalidField(`${at}.nonResourceURLs`, nonResourceURLs, both)]
      : []),
  ];
}

function levelErrors(level: string, at: string): readonly FieldError[] {
  if (level === '') return [requiredField(at)];
  return (auditLevels as readonly string[]).includes(level) ? [] : [notSupportedField(at, level, auditLevels)];
}

function stageErrors(stages: readonly string[], at: string): readonly FieldError[] {
  return stages.flatMap((stage, index) =>
    (auditStages as readonly string[]).includes(stage)
      ? []
      : [invalidField(`${at}[${index}]`, stage, `allowed stages are ${auditStages.join(',')}`)],
  );
}

function urlErrors(urls: readonly string[], at: string): readonly FieldError[] {
  return urls.flatMap((url, index) => {
    if (url === '*') return [];
    const starts = "non-resource URL rules must begin with a '/' character";
    const ends = "non-resource URL wildcards '*' must be the final character of the rule";
    return [
      ...(url.startsWith('/') ? [] : [invalidField(`${at}[${index}]`, url, starts)]),
      ...(url.slice(0, -1).includes('*') ? [invalidField(`${at}[${index}]`, url, ends)] : []),
    ];
  });
}

function resourceErrors(
  { group = '', resources = [], resourceNames = [] }: AuditedResources,
  at: string,
): readonly FieldError[] {
  const faults = group === '' || group === '*' ? [] : dnsSubdomainErrors(group);
  return [
    ...(faults.length === 0 ? [] : [invalidField(`${at}.group`, group, faults.join(','))]),
    ...(resourceNames.length > 0 && resources.length === 0
      ? [invalidField(`${at}.resourceNames`, resourceNames, 'using resourceNames requires at least one resource')]
      : []),
  ];
}

const flag: SchemaNode = { type: 'boolean' };

const policySchema = structSchema('v1.Policy', {
  apiVersion: textSchema,
  kind: textSchema,
  metadata: { preserveUnknownFields: true },
  omitStages: textsSchema,
  omitManagedFields: flag,
  rules: listSchema(
    structSchema('v1.PolicyRule', {
      level: { type: 'string', goType: 'v1.Level' },
      users: textsSchema,
      userGroups: textsSchema,
      verbs: textsSchema,
      resources: listSchema(
        structSchema('v1.GroupResources', { group: textSchema, resources: textsSchema, resourceNames: textsSchema }),
      ),
      namespaces: textsSchema,
      nonResourceURLs: textsSchema,
      omitStages: textsSchema,
      omitManagedFields: flag,
    }),
  ),
});
