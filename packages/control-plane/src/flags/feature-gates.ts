// --feature-gates: the gates that change something here, all others of kube-apiserver 1.36 at their defaults only.

import { gatesOff, gatesOn } from './feature-gate-defaults.ts';
import { type Flag, FlagRefusal, notSupported } from './flag-set.ts';

export interface FeatureGates {
  /** The server has a Lease in kube-system by which others see that it lives. */
  readonly APIServerIdentity: boolean;
  /** Objects that the store cannot read may be deleted, with ignoreStoreReadErrorWithClusterBreakingPotential. */
  readonly AllowUnsafeMalformedObjectDeletion: boolean;
}

const defaults: FeatureGates = { APIServerIdentity: true, AllowUnsafeMalformedObjectDeletion: false };

export function featureGatesFlag(help: string): Flag<FeatureGates> {
  return { parse: parseGates, default: defaults, help, shown: '', separator: ',' };
}

/** "A=true,B=false"; of two settings of one gate the last counts. Source: component-base featuregate.Set. */
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
