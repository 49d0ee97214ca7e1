// The names of the control loops, and their selection by a list. Read by the flags and by control-loops.ts. The names are
// kube-controller-manager's, with the short ones that it still accepts.

export const controlLoopNames = [
  'serviceaccount-controller',
  'serviceaccount-token-controller',
  'root-ca-certificate-publisher-controller',
  'namespace-controller',
  'garbage-collector-controller',
  'clusterrole-aggregation-controller',
  'persistentvolumeclaim-protection-controller',
  'persistentvolume-protection-controller',
  'volumeattributesclass-protection-controller',
  'resourcequota-controller',
  'validatingadmissionpolicy-status-controller',
] as const;

export type ControlLoopName = (typeof controlLoopNames)[number];

/** Source: kube-controller-manager names.KCMControllerAliases. */
const aliases: ReadonlyMap<string, ControlLoopName> = new Map([
  ['root-ca-cert-publisher', 'root-ca-certificate-publisher-controller'],
  ['garbagecollector', 'garbage-collector-controller'],
  ['pvc-protection', 'persistentvolumeclaim-protection-controller'],
  ['pv-protection', 'persistentvolume-protection-controller'],
]);

const garbageCollector: ControlLoopName = 'garbage-collector-controller';

/** Accepts a full name, a name without "-controller", or an old alias. Returns undefined for anything else. */
export function controlLoopNamed(text: string): ControlLoopName | undefined {
  const isMeant = (name: ControlLoopName): boolean => name === text || name === `${text}-controller`;
  return controlLoopNames.find(isMeant) ?? aliases.get(text);
}

export interface ControlLoopSelection {
  /** False: "*" does not include the garbage collector, and naming it is an error. Default true. */
  readonly collectsGarbage?: boolean;
}

/**
 * Returns the loops that `--control-loops` selects, in the order of {@link controlLoopNames}. An empty list or "none" alone selects
 * nothing, "*" all; "-name" together with "*" leaves one out. Throws TypeError that names an unknown or unavailable loop.
 */
export function selectControlLoops(
  list: readonly string[],
  { collectsGarbage = true }: ControlLoopSelection = {},
): readonly ControlLoopName[] {
  if (list.length === 1 && list[0] === 'none') return [];
  const named = new Set<ControlLoopName>();
  const excluded = new Set<ControlLoopName>(collectsGarbage ? [] : [garbageCollector]);
  for (const text of list) {
    if (text === '*') continue;
    if (text.startsWith('-')) excluded.add(knownLoop(text, text.slice(1)));
    else named.add(knownLoop(text, text));
  }
  if (!collectsGarbage && named.has(garbageCollector)) {
    throw new TypeError(`"${garbageCollector}" cannot run where the garbage collector is disabled`);
  }
  const isWanted = (name: ControlLoopName): boolean => named.has(name) || (list.includes('*') && !excluded.has(name));
  return controlLoopNames.filter(isWanted);
}

function knownLoop(text: string, name: string): ControlLoopName {
  if (text === 'none') throw new TypeError('"none" must stand alone');
  const known = controlLoopNamed(name);
  if (known === undefined) throw new TypeError(`"${text}" is not in the list of known controllers`);
  return known;
}
