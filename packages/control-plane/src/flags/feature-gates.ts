// --feature-gates: some gates can be changed; all others of kube-apiserver 1.36 are accepted only with their default value.

import { gatesOff, gatesOn } from './feature-gate-defaults.ts';
import { type Flag, FlagRefusal, notSupported } from './flag-set.ts';

export interface FeatureGates {
  /** The server keeps a Lease in kube-system that shows others that it is running. */
  readonly APIServerIdentity: boolean;
  /** Requests can be traced. */
  readonly APIServerTracing: boolean;
  /** Clients may delete objects that the store cannot read, with ignoreStoreReadErrorWithClusterBreakingPotential. */
  readonly AllowUnsafeMalformedObjectDeletion: boolean;
  /** /flagz exists. */
  readonly ComponentFlagz: boolean;
  /** /statusz exists. */
  readonly ComponentStatusz: boolean;
}

const defaults: FeatureGates = {
  APIServerIdentity: true,
  APIServerTracing: true,
  AllowUnsafeMalformedObjectDeletion: false,
  ComponentFlagz: true,
  ComponentStatusz: true,
};

export function featureGatesFlag(help: string): Flag<FeatureGates> {
  return { parse: parseGates, default: defaults, help, shown: '', separator: ',', format: formatGates };
}

/** Returns the gates that differ from their defaults. */
function formatGates(gates: FeatureGates): string {
  return Object.entries(gates)
    .filter(([name, isOn]) => defaults[name as keyof FeatureGates] !== isOn)
    .map(([name, isOn]) => `${name}=${isOn}`)
    .join(',');
}

/** Parses "A=true,B=false"; the last of several settings of one gate counts. Source: component-base featuregate.Set. */
function parseGates(text: string): FeatureGates {
  let gates = defaults;
  for (const item of text.split(',').filter((part) => part.trim() !== '')) {
    const [name = '', value] = item.split('=', 2).map((part) => part.trim());
    const plain = name.replace(/^kube:/, '');
    if (value === undefined) throw new FlagRefusal(`missing bool value for ${plain}`);
    const isOn = parseBoolean(plain, value);
    if (isOurs(plain)) gates = { ...gates, [plain]: isOn };
    else refuseOther(plain, isOn);
  }
  return gates;
}

function isOurs(name: string): name is keyof FeatureGates {
  return Object.hasOwn(defaults, name);
}

function refuseOther(name: string, isOn: boolean): void {
  if (!gatesOn.has(name) && !gatesOff.has(name)) throw new FlagRefusal(`unrecognized feature gate: ${name}`);
  if (gatesOn.has(name) !== isOn) throw new FlagRefusal(`${name}=${isOn} ${notSupported}`);
}

function parseBoolean(name: string, text: string): boolean {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false;
  const reason = `strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`;
  throw new FlagRefusal(`invalid value of ${name}=${text}, err: ${reason}`);
}
