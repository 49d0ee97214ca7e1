// The names of the control loops, and what a list of them selects. Read by the flags and by control-loops.ts. Names as
// kube-controller-manager has them, with the short ones that it still takes.

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

/** A full name, one without "-controller", or an old short one. Undefined for anything else. */
export function controlLoopNamed(text: string): ControlLoopName | undefined {
  const isMeant = (name: ControlLoopName): boolean => name === text || name === `${text}-controller`;
  return controlLoopNames.find(isMeant) ?? aliases.get(text);
}

export interface ControlLoopSelection {
  /** False: there is no garbage collector among "*", and it cannot be named. Default true. */
  readonly collectsGarbage?: boolean;
}

/**
 * What `--control-loops` selects: nothing or "none" alone, "*" for all, names, and "-name" for all but that one beside "*".
 * In the order of {@link controlLoopNames}. Throws TypeError naming what it does not know or cannot have.
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
