// PodSecurityConfiguration: the policy for namespaces without labels, and the exemptions. Source:
// pod-security-admission/admission/api.

import { aggregateTexts } from '@kapstan/api/errors';
import { decodeConfiguration, fileSchema, structSchema, textSchema, textsSchema } from '@kapstan/apiserver/internal';
import { type LevelVersion, levelFault, parseLevel, parseVersion, versionFault } from './level-version.ts';
import { type Mode, modes, type NamespacePolicy } from './namespace-policy.ts';

export interface PodSecurityConfiguration {
  readonly defaults: NamespacePolicy;
  readonly exemptions: {
    readonly namespaces: ReadonlySet<string>;
    readonly usernames: ReadonlySet<string>;
    readonly runtimeClasses: ReadonlySet<string>;
  };
}

const open = { level: 'privileged', version: 'latest' } as const;

/** Nothing is forbidden where no label requires it. */
export const defaultPodSecurity: PodSecurityConfiguration = {
  defaults: { enforce: open, audit: open, warn: open },
  exemptions: { namespaces: new Set(), usernames: new Set(), runtimeClasses: new Set() },
};

const group = 'pod-security.admission.config.k8s.io';
const kinds = new Map(
  ['v1', 'v1beta1', 'v1alpha1'].map((version) => [`${group}/${version}`, 'PodSecurityConfiguration']),
);
const schema = fileSchema('v1.PodSecurityConfiguration', {
  defaults: structSchema(
    'v1.PodSecurityDefaults',
    Object.fromEntries(modes.flatMap((mode) => [mode, `${mode}-version`]).map((name) => [name, textSchema])),
  ),
  exemptions: structSchema('v1.PodSecurityExemptions', {
    usernames: textsSchema,
    namespaces: textsSchema,
    runtimeClasses: textsSchema,
  }),
});

interface PodSecurityFile {
  readonly defaults?: Readonly<Record<string, string>>;
  readonly exemptions?: Readonly<Partial<Record<keyof PodSecurityConfiguration['exemptions'], readonly string[]>>>;
}

/** Returns the default when there is no text. Throws an Error that describes the fault. */
export function parsePodSecurity(text: string | undefined): PodSecurityConfiguration {
  if (text === undefined || text === '') return defaultPodSecurity;
  const file: PodSecurityFile = decodeConfiguration(text, { kinds, schema });
  const { defaults = {}, exemptions = {} } = file;
  const faults: string[] = [];
  const policy = Object.fromEntries(modes.map((mode) => [mode, modeOf(defaults, mode, faults)])) as NamespacePolicy;
  if (faults.length > 0) throw new Error(`PodSecurity configuration error: ${aggregateTexts(faults)}`);
  const { namespaces, usernames, runtimeClasses } = exemptions;
  return {
    defaults: policy,
    exemptions: {
      namespaces: new Set(namespaces),
      usernames: new Set(usernames),
      runtimeClasses: new Set(runtimeClasses),
    },
  };
}

function modeOf(defaults: Readonly<Record<string, string>>, mode: Mode, faults: string[]): LevelVersion {
  const [level, version] = [defaults[mode] || open.level, defaults[`${mode}-version`] || open.version];
  const levelError = levelFault(level);
  const versionError = versionFault(version);
  if (levelError !== undefined) faults.push(`${mode}: ${levelError}`);
  if (versionError !== undefined) faults.push(`${mode}-version: ${versionError}`);
  return { level: parseLevel(level) ?? open.level, version: parseVersion(version) ?? open.version };
}
