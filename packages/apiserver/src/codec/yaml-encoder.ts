// Encodes JSON values as YAML like sigs.k8s.io/yaml: sorted keys, sequences without indentation, and quotes where a YAML 1.1 reader would
// misread a text. Used by wire-format.ts.

import { ExactNumber } from '@kapstan/api';
import {
  isJsonObject,
  namesInSlices,
  nodesLeft,
  type SlicedWork,
  sortInSlices,
  Utf8Parts,
} from '@kapstan/api/internal';
import { type ScalarTag, stringify } from 'yaml';

/** Writes numbers that a double cannot hold with all digits. */
const exactNumberTag: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  // The tag is used for writing only.
  test: /(?!)/,
  identify: (value) => value instanceof ExactNumber,
  resolve: (text) => new ExactNumber(text),
  stringify: (item) => String(item.value),
};

export function encodeYaml(value: unknown): string {
  return stringify(value, {
    sortMapEntries: true,
    indentSeq: false,
    lineWidth: 0,
    aliasDuplicateObjects: false,
    compat: 'yaml-1.1',
    customTags: (tags) => [exactNumberTag, ...tags],
  });
}

/** Returns the UTF-8 of what {@link encodeYaml} returns. A member takes about 10 microseconds. */
export function* encodeYamlInSlices(value: unknown): SlicedWork<Uint8Array> {
  const bytes = new Utf8Parts();
  yield* writeValue(value, { isRoot: true, first: '', pad: '', write: (text) => bytes.add(text) });
  return bytes.joined();
}

/** Maximum number of nodes, over all members or items, that are written in one step. */
const nodesPerRun = 128;

/** A place in the document. */
interface Place {
  readonly isRoot: boolean;
  /** What stands before the first line of the value. */
  readonly first: string;
  /** The spaces before its other lines. */
  readonly pad: string;
  write(text: string): void;
}

function* writeValue(value: unknown, place: Place): SlicedWork<void> {
  yield;
  if (nodesLeft(value, nodesPerRun) >= 0) writeSmall(value, place);
  else if (Array.isArray(value)) yield* writeItems(value, place);
  else if (isJsonObject(value)) yield* writeMembers(value, place);
}

function writeSmall(value: unknown, { isRoot, first, pad, write }: Place): void {
  write(first + (isRoot ? encodeYaml(value) : linesInside(value, pad)));
}

/**
 * Returns the lines of a value that is not the whole document. They are cut out of a list or a map with that value, because the library writes
 * some texts differently where a line could be taken for the mark of a document ("---").
 */
function linesInside(value: unknown, pad: string): string {
  if (Array.isArray(value)) return padded(encodeYaml({ a: value }).slice('a:\n'.length), pad);
  return padded(encodeYaml([value]).slice('- '.length), pad.slice('- '.length));
}

/** Empty lines stay empty: they are in texts of several lines, where indentation is no content. */
function padded(text: string, pad: string): string {
  return pad === '' ? text : text.replaceAll(/\n(?=[^\n])/g, `\n${pad}`);
}

function* writeItems(list: readonly unknown[], place: Place): SlicedWork<void> {
  const below = { isRoot: false, pad: `${place.pad}  `, write: place.write };
  let { first } = place;
  let run: unknown[] = [];
  let left = nodesPerRun;
  const writeRun = (): void => {
    if (run.length > 0) {
      writeSmall(run, { ...place, first });
      first = place.pad;
    }
    run = [];
    left = nodesPerRun;
  };
  for (const item of list) {
    let rest = nodesLeft(item, left);
    if (rest < 0) {
      writeRun();
      yield;
      rest = nodesLeft(item, left);
    }
    if (rest >= 0) {
      run.push(item);
      left = rest;
    } else {
      yield* writeValue(item, { ...below, first: `${first}- ` });
      first = place.pad;
    }
  }
  writeRun();
}

function* writeMembers(map: Record<string, unknown>, place: Place): SlicedWork<void> {
  let { first } = place;
  let run: [string, unknown][] = [];
  let left = nodesPerRun;
  const writeRun = (): void => {
    if (run.length > 0) {
      writeSmall(new Map(run), { ...place, first });
      first = place.pad;
    }
    run = [];
    left = nodesPerRun;
  };
  for (const name of yield* sortInSlices([...(yield* namesInSlices(map))])) {
    const member = map[name];
    if (member === undefined) continue;
    let rest = nodesLeft(member, left);
    if (rest < 0) {
      writeRun();
      yield;
      rest = nodesLeft(member, left);
    }
    if (rest >= 0) {
      run.push([name, member]);
      left = rest;
    } else {
      yield* writeValue(member, placeOfMember(name, member, { ...place, first }));
      first = place.pad;
    }
  }
  writeRun();
}

/** A member stands on the lines below its name. A name that is too long for that ("? name") has its member behind a colon of its own. */
function placeOfMember(name: string, member: unknown, { isRoot, first, pad, write }: Place): Place {
  const named = { [name]: 1 };
  const lines = (isRoot ? encodeYaml(named) : linesInside(named, pad)).slice(0, -' 1\n'.length);
  if (lines.startsWith('? ')) return { isRoot: false, first: `${first}${lines} `, pad: `${pad}  `, write };
  const below = Array.isArray(member) ? pad : `${pad}  `;
  return { isRoot: false, first: `${first}${lines}\n${below}`, pad: below, write };
}
