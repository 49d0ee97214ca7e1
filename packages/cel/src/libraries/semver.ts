// The library of semantic versions.
import { goQuote } from '@kapstan/api/internal';
import type { Library } from '../environment/library.ts';
import { type CelType, structType } from '../types/cel-type.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  memberOverload,
  oneOverload,
} from '../types/function-declaration.ts';
import { CelObject } from '../values/cel-object.ts';
import { CelFailure, isFailure, overloadFailure } from '../values/failure.ts';
import { intOf, uint64Range } from '../values/integers.ts';

const semverType = structType('kubernetes.Semver');

interface Version {
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint];
  /** The numbers and words between dots. */
  readonly prerelease: readonly (bigint | string)[];
  readonly build: readonly string[];
}

/** A value of the type `kubernetes.Semver`. */
export class CelSemver extends CelObject {
  readonly type: CelType = semverType;
  readonly version: Version;

  constructor(version: Version) {
    super();
    this.version = version;
  }

  override equals(other: unknown): boolean | CelFailure {
    return other instanceof CelSemver ? compareVersions(this.version, other.version) === 0 : overloadFailure(other);
  }

  override get nativeType(): string {
    return 'semver.Version';
  }

  override toString(): string {
    const { numbers, prerelease, build } = this.version;
    const pre = prerelease.length === 0 ? '' : `-${prerelease.join('.')}`;
    return `${numbers.join('.')}${pre}${build.length === 0 ? '' : `+${build.join('.')}`}`;
  }
}

function parseVersion(text: string): Version | CelFailure {
  if (text === '') return new CelFailure('Version string empty');
  const parts = splitN(text, '.', 3);
  if (parts.length !== 3) return new CelFailure('No Major.Minor.Patch elements found');
  const [majorText = '', minorText = '', rest = ''] = parts;
  const major = readNumber(majorText, 'major');
  if (isFailure(major)) return major;
  const minor = readNumber(minorText, 'minor');
  if (isFailure(minor)) return minor;
  return withPatch([major, minor], rest);
}

function withPatch([major, minor]: readonly [bigint, bigint], rest: string): Version | CelFailure {
  const plus = rest.indexOf('+');
  const build = plus < 0 ? [] : rest.slice(plus + 1).split('.');
  const beforeBuild = plus < 0 ? rest : rest.slice(0, plus);
  const dash = beforeBuild.indexOf('-');
  const prereleaseTexts = dash < 0 ? [] : beforeBuild.slice(dash + 1).split('.');
  const patch = readNumber(dash < 0 ? beforeBuild : beforeBuild.slice(0, dash), 'patch');
  if (isFailure(patch)) return patch;
  const prerelease: (bigint | string)[] = [];
  for (const text of prereleaseTexts) {
    const part = readPrerelease(text);
    if (isFailure(part)) return part;
    prerelease.push(part);
  }
  for (const part of build) {
    if (part === '') return new CelFailure('Build meta data is empty');
    if (!isAlphanumeric(part)) return new CelFailure(`Invalid character(s) found in build meta data ${goQuote(part)}`);
  }
  return { numbers: [major, minor, patch], prerelease, build };
}

function splitN(text: string, separator: string, limit: number): string[] {
  const parts = text.split(separator);
  return parts.length <= limit ? parts : [...parts.slice(0, limit - 1), parts.slice(limit - 1).join(separator)];
}

function readNumber(text: string, name: string): bigint | CelFailure {
  if (!/^[0-9]*$/.test(text)) return new CelFailure(`Invalid character(s) found in ${name} number ${goQuote(text)}`);
  if (/^0./.test(text)) {
    const shown = name.charAt(0).toUpperCase() + name.slice(1);
    return new CelFailure(`${shown} number must not contain leading zeroes ${goQuote(text)}`);
  }
  return parseUint(text);
}

function parseUint(text: string): bigint | CelFailure {
  if (text === '') return new CelFailure('strconv.ParseUint: parsing "": invalid syntax');
  const value = BigInt(text);
  return uint64Range.has(value) ? value : new CelFailure(`strconv.ParseUint: parsing "${text}": value out of range`);
}

function readPrerelease(text: string): bigint | string | CelFailure {
  if (text === '') return new CelFailure('Prerelease is empty');
  if (!/^\d+$/.test(text)) {
    return isAlphanumeric(text) ? text : new CelFailure(`Invalid character(s) found in prerelease ${goQuote(text)}`);
  }
  if (/^0./.test(text))
    return new CelFailure(`Numeric PreRelease version must not contain leading zeroes ${goQuote(text)}`);
  return parseUint(text);
}

function isAlphanumeric(text: string): boolean {
  return /^[0-9A-Za-z-]+$/.test(text);
}

/** Removes a leading v and leading zeros, and adds missing numbers. */
function normalized(text: string): string | CelFailure {
  const parts = splitN(text.replace(/^v/, ''), '.', 3).map((part) => {
    if (part.length <= 1) return part;
    const trimmed = part.replace(/^0+/, '');
    return /^\d/.test(trimmed) ? trimmed : `0${trimmed}`;
  });
  if (parts.length < 3 && /[+-]/.test(parts.at(-1) ?? '')) {
    return new CelFailure('short version cannot contain PreRelease/Build meta data');
  }
  while (parts.length < 3) parts.push('0');
  return parts.join('.');
}

function semver(text: string, normalizes = false): CelSemver | CelFailure {
  const prepared = normalizes ? normalized(text) : text;
  if (isFailure(prepared)) return prepared;
  const version = parseVersion(prepared);
  return isFailure(version) ? version : new CelSemver(version);
}

function compareVersions(left: Version, right: Version): number {
  for (const [i, number] of left.numbers.entries()) {
    const other = right.numbers[i] as bigint;
    if (number !== other) return number > other ? 1 : -1;
  }
  return comparePrereleases(left.prerelease, right.prerelease);
}

/** A release comes after its prereleases, and words come after numbers. */
function comparePrereleases(left: Version['prerelease'], right: Version['prerelease']): number {
  if (left.length === 0 || right.length === 0) return Math.sign(right.length - left.length);
  for (const [i, part] of left.entries()) {
    const other = right[i];
    if (other === undefined) return 1;
    if (part === other) continue;
    if (typeof part !== typeof other) return typeof part === 'bigint' ? -1 : 1;
    return part > other ? 1 : -1;
  }
  return left.length < right.length ? -1 : 0;
}

const pair = 'kubernetes.Semver, kubernetes.Semver';

function compared(
  name: string,
  [id, result]: readonly [string, string],
  read: (order: number) => unknown,
): FunctionDeclaration {
  const run = (left: CelSemver, right: CelSemver): unknown => read(compareVersions(left.version, right.version));
  return oneOverload(name, memberOverload(id, `${pair} -> ${result}`, run));
}

function part(name: string, index: 0 | 1 | 2): FunctionDeclaration {
  const run = ({ version }: CelSemver): unknown => intOf(BigInt.asIntN(64, version.numbers[index]));
  return oneOverload(name, memberOverload(`semver_${name}`, 'kubernetes.Semver -> int', run));
}

const isSemver = (text: string, normalizes = false): boolean => !isFailure(semver(text, normalizes));

export const semverLibrary: Library = {
  name: 'kubernetes.semver',
  functions: [
    {
      name: 'semver',
      overloads: [
        globalOverload('string_to_semver', 'string -> kubernetes.Semver', semver),
        globalOverload('string_bool_to_semver', 'string, bool -> kubernetes.Semver', semver),
      ],
    },
    {
      name: 'isSemver',
      overloads: [
        globalOverload('is_semver_string', 'string -> bool', isSemver),
        globalOverload('is_semver_string_bool', 'string, bool -> bool', isSemver),
      ],
    },
    compared('isGreaterThan', ['semver_is_greater_than', 'bool'], (order) => order === 1),
    compared('isLessThan', ['semver_is_less_than', 'bool'], (order) => order === -1),
    compared('compareTo', ['semver_compare_to', 'int'], (order) => order),
    part('major', 0),
    part('minor', 1),
    part('patch', 2),
  ],
};
