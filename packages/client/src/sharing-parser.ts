// Parses objects that are alike, such as the pods of one controller. A part whose text was seen before is not parsed again; all objects
// that contain it share one value. Used by lister-watchers, whose objects nobody may change (I6); see decision 0016.
import { parseJson } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import { type ContainerSpan, containerSpans } from './container-spans.ts';
import { commonParts, cutOut, putBack, type ReducedText, type SharedPart, type SpannedText } from './shared-parts.ts';

/** The content of a text: an object, or a watch event with an object as its member `object`. */
type Form = 'object' | 'event';

interface Sample {
  readonly text: string;
  readonly form: Form;
}

/** A group of objects that are expected to be alike. */
interface Family {
  /** The parts in text order. Empty = not yet known, or there are no common parts. */
  parts: readonly SharedPart[];
  /** True once one object has been parsed, so that more may follow. */
  isKnown: boolean;
  /** A text to compare with the next one. */
  sample: Sample | undefined;
  /** Grows with each text that lacks parts; a text with all parts resets it to 0. */
  misses: number;
  /** Number of texts since the last comparison. */
  age: number;
  /** Number of texts before the next comparison, if the parts keep being found. */
  patience: number;
  /** Characters of parts and sample. */
  size: number;
}

// Limits of a text in characters. Shorter texts are parsed as fast as they are searched; longer ones would take too
// much memory.
const minTextLength = 768;
const maxTextLength = 32_768;
// Limits of each of the two generations of families.
const maxFamilies = 5000;
const maxSize = 2 ** 22;
// After sixteen texts in a row that lack a part, or four that lack nearly all, new parts are searched for, because the
// texts now share something else.
const partialMiss = 1;
const poorMiss = 4;
const maxMisses = 16;
// A new comparison also follows after this many texts, which may have more in common; the number doubles after each comparison.
const firstPatience = 64;
const maxPatience = 4096;
// A comparison takes as long as parsing four or five texts. The characters that need not be parsed pay for it, so objects that are not
// alike take hardly longer than without sharing: they cause one comparison in 160 texts.
const comparisonCost = 5;
const unsharedIncome = 1 / 32;
const initialCredit = 2 ** 18;
const maxCredit = 2 ** 20;
/** Number of characters searched for a generateName; objects that have it further on form one family. */
const beginning = 1024;
const generateName = '"generateName":"';
const quote = 0x22;
const maxNameLength = 253;

/**
 * Returns what {@link parseJson} returns, but with parts frozen that several objects share; throws SyntaxError as it does. In addition to
 * the parts that the objects hold, it keeps at most 10,000 families, 8 Mi characters and their values.
 */
export class SharingParser {
  /** Families by a hash of their name. If two names have the same hash, fewer parts are shared, but nothing breaks. */
  #families = new Map<number, Family>();
  /** The previous generation, which is forgotten unless one of its objects arrives again. */
  #formerFamilies = new Map<number, Family>();
  /** Number of characters in {@link SharingParser.#families}. */
  #size = 0;
  #credit = initialCredit;

  /** Parses an object, such as an item of a list. */
  readonly parseObject = (text: string): unknown => this.#parse({ text, form: 'object' });

  /** Parses a line of a watch: an event with its object. */
  readonly parseEvent = (line: string): unknown => this.#parse({ text: line, form: 'event' });

  #parse(present: Sample): unknown {
    const { text } = present;
    if (text.length < minTextLength || text.length > maxTextLength) return parseJson(text);
    const family = this.#familyOf(text);
    const shared = family.parts.length === 0 ? undefined : this.#parseShared(family, present);
    // The text is parsed before any of it is kept, because parsing throws when it is not JSON.
    const value = shared ?? parseJson(text);
    if (shared === undefined) this.#earn(text.length * unsharedIncome);
    family.age += 1;
    if (family.parts.length === 0 || family.misses >= maxMisses || family.age >= family.patience)
      this.#compare(family, present);
    return value;
  }

  /** Returns undefined when the text lacks the parts, or has them in other places. */
  #parseShared(family: Family, { text, form }: Sample): unknown {
    const reduced = cutOut(family.parts, text);
    const value = reduced.cut.length === 0 ? undefined : parseReduced(reduced, form);
    const saved = value === undefined ? 0 : text.length - reduced.text.length;
    this.#earn(saved);
    if (saved > 0 && reduced.cut.length === family.parts.length) family.misses = 0;
    else if (saved * 4 > text.length) family.misses += partialMiss;
    else {
      family.misses += poorMiss;
      if (family.misses >= maxMisses) this.#set(family, { parts: [] });
    }
    return value;
  }

  #compare(family: Family, present: Sample): void {
    const { sample, isKnown } = family;
    const cost = present.text.length * comparisonCost;
    family.isKnown = true;
    if (this.#credit < cost || !isKnown) this.#set(family, { sample: undefined });
    else if (sample === undefined) this.#set(family, { sample: present });
    else {
      this.#credit -= cost;
      const found = worthwhile(sample, present, family.parts);
      const isLost = family.misses >= maxMisses;
      const parts = isLost || lengthOf(found) > lengthOf(family.parts) ? found : family.parts;
      this.#set(family, { parts, sample: parts.length === 0 ? present : undefined });
      family.patience = isLost ? firstPatience : Math.min(family.patience * 2, maxPatience);
      family.misses = 0;
      family.age = 0;
    }
  }

  #earn(characters: number): void {
    this.#credit = Math.min(this.#credit + characters, maxCredit);
  }

  #familyOf(text: string): Family {
    const name = familyName(text);
    const known = this.#families.get(name);
    if (known !== undefined) return known;
    const family = this.#formerFamilies.get(name) ?? newFamily();
    if (this.#families.size === maxFamilies || this.#size > maxSize) {
      this.#formerFamilies = this.#families;
      this.#families = new Map();
      this.#size = 0;
    }
    this.#families.set(name, family);
    this.#size += family.size;
    return family;
  }

  #set(family: Family, change: Partial<Pick<Family, 'parts' | 'sample'>>): void {
    Object.assign(family, change);
    const size = lengthOf(family.parts) + (family.sample?.text.length ?? 0);
    this.#size += size - family.size;
    family.size = size;
  }
}

function newFamily(): Family {
  return { parts: [], isKnown: false, sample: undefined, misses: 0, age: 0, patience: firstPatience, size: 0 };
}

/** Returns a hash of the name from which names were generated, which objects of one controller share. All other objects form one family. */
function familyName(text: string): number {
  const start = text.slice(0, beginning).indexOf(generateName);
  if (start < 0) return 0;
  let hash = 0;
  const end = Math.min(start + generateName.length + maxNameLength, text.length);
  for (let at = start + generateName.length; at < end; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) break;
    hash = (hash * 31 + code) | 0;
  }
  return hash;
}

/** Returns undefined when a stand-in is not where its part belongs, or the text is not JSON. */
function parseReduced({ text, cut }: ReducedText, form: Form): unknown {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    // The whole text is parsed next, so that the error refers to it.
    return undefined;
  }
  return putBack(cut, form === 'event' && isJsonObject(value) ? value.object : value) ? value : undefined;
}

/** Returns the common parts of the two texts; none when they are less than a third of the sample. */
function worthwhile(sample: Sample, present: Sample, known: readonly SharedPart[]): readonly SharedPart[] {
  const [one, other] = [spanned(sample), spanned(present)];
  if (one === undefined || other === undefined) return [];
  const parts = commonParts(one, other, known);
  return lengthOf(parts) * 3 < sample.text.length ? [] : parts;
}

function lengthOf(parts: readonly SharedPart[]): number {
  return parts.reduce((sum, part) => sum + part.text.length, 0);
}

function spanned({ text, form }: Sample): SpannedText | undefined {
  const whole = containerSpans(text);
  const isObject = ({ key }: ContainerSpan): boolean => key === 'object';
  const span = form === 'event' ? whole?.children.find(isObject) : whole;
  return span === undefined ? undefined : { text, span };
}
