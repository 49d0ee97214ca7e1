// Encodes JSON values as YAML like sigs.k8s.io/yaml: sorted keys, sequences without indentation, and quotes where a YAML 1.1 reader would
// misread a text. Used by wire-format.ts.

import { ExactNumber } from '@kapstan/api';
import {
  fitsOneSlice,
  isJsonObject,
  namesInSlices,
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
  yield* writeValue(value, { first: '', pad: '', write: (text) => bytes.add(text) });
  return bytes.joined();
}

/** Small members or items that are written at once. */
const valuesPerRun = 32;

/** A place in the document. */
interface Place {
  /** What stands before the first line of the value. */
  readonly first: string;
  /** The spaces before its other lines. */
  readonly pad: string;
  write(text: string): void;
}

function* writeValue(value: unknown, place: Place): SlicedWork<void> {
  if (fitsOneSlice(value)) return writeLines(encodeYaml(value), place);
  yield;
  if (Array.isArray(value)) yield* writeItems(value, place);
  else if (isJsonObject(value)) yield* writeMembers(value, place);
}

/** Writes a text of whole lines. Empty lines stay empty: they are in texts of several lines, where indentation is no content. */
function writeLines(text: string, { first, pad, write }: Place): void {
  write(first + (pad === '' ? text : text.replaceAll(/\n(?=[^\n])/g, `\n${pad}`)));
}

function* writeItems(list: readonly unknown[], place: Place): SlicedWork<void> {
  const below = `${place.pad}  `;
  let { first } = place;
  let run: unknown[] = [];
  const writeRun = (): void => {
    if (run.length === 0) return;
    writeLines(encodeYaml(run), { ...place, first });
    first = place.pad;
    run = [];
  };
  for (const item of list) {
    const isSmall = fitsOneSlice(item);
    if (isSmall) run.push(item);
    if (isSmall && run.length < valuesPerRun) continue;
    writeRun();
    if (isSmall) yield;
    else {
      yield* writeValue(item, { ...place, first: `${first}- `, pad: below });
      first = place.pad;
    }
  }
  writeRun();
}

function* writeMembers(map: Record<string, unknown>, place: Place): SlicedWork<void> {
  let { first } = place;
  let run: [string, unknown][] = [];
  const writeRun = (): void => {
    if (run.length === 0) return;
    writeLines(encodeYaml(new Map(run)), { ...place, first });
    first = place.pad;
    run = [];
  };
  for (const name of yield* sortInSlices([...(yield* namesInSlices(map))])) {
    const member = map[name];
    if (member === undefined) continue;
    const isSmall = fitsOneSlice(member);
    if (isSmall) run.push([name, member]);
    if (isSmall && run.length < valuesPerRun) continue;
    writeRun();
    if (isSmall) yield;
    else {
      yield* writeValue(member, placeOfMember(name, member, { ...place, first }));
      first = place.pad;
    }
  }
  writeRun();
}

/** A member stands on the lines below its name. A name that is too long for that ("? name") has its member behind a colon of its own. */
function placeOfMember(name: string, member: unknown, { first, pad, write }: Place): Place {
  const head = encodeYaml({ [name]: 1 }).slice(0, -' 1\n'.length);
  const lines = head.replaceAll(/\n(?=[^\n])/g, `\n${pad}`);
  if (head.startsWith('? ')) return { first: `${first}${lines} `, pad: `${pad}  `, write };
  const below = Array.isArray(member) ? pad : `${pad}  `;
  return { first: `${first}${lines}\n${below}`, pad: below, write };
}
