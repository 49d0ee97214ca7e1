// Field selectors: "metadata.name=a,spec.nodeName!=b". Terms are exact; "\" escapes "\", "," and "=".
import { ValueTerms } from './label-terms.ts';

/** One term. `==` means `=`. */
export interface FieldRequirement {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/**
 * A parsed field selector. Immutable.
 *
 * @example
 * ```ts
 * import { parseFieldSelector } from '@kapstan/api';
 *
 * const selector = parseFieldSelector('status.phase=Running,spec.nodeName!=');
 * console.log(String(selector)); // spec.nodeName!=,status.phase=Running
 * ```
 */
export class FieldSelector {
  readonly requirements: readonly FieldRequirement[];
  /**
   * Terms by field if they are many and were needed: a client may send 50,000, to compare with 20,000 objects.
   */
  #terms: ReadonlyMap<string, ValueTerms> | undefined;

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements;
  }

  get isEmpty(): boolean {
    return this.requirements.length === 0;
  }

  /** True when all terms hold. A missing field counts as "". */
  matches(fields: Readonly<Record<string, string>>): boolean {
    if (this.requirements.length <= fewTerms) {
      return this.requirements.every(({ field, operator, value }) => {
        const actual = fieldOf(fields, field);
        return operator === '=' ? actual === value : actual !== value;
      });
    }
    this.#terms ??= termsByField(this.requirements);
    for (const [field, terms] of this.#terms) if (!terms.hold(fieldOf(fields, field))) return false;
    return true;
  }

  /** Returns the value that an `=` term requires of a field; undefined when there is none. */
  exactValue(field: string): string | undefined {
    return this.requirements.find((r) => r.field === field && r.operator === '=')?.value;
  }

  toString(): string {
    return this.requirements.map((r) => `${r.field}${r.operator}${escapeValue(r.value)}`).join(',');
  }
}

const fewTerms = 8;

function fieldOf(fields: Readonly<Record<string, string>>, field: string): string {
  return Object.hasOwn(fields, field) ? (fields[field] ?? '') : '';
}

function termsByField(requirements: readonly FieldRequirement[]): ReadonlyMap<string, ValueTerms> {
  const all = new Map<string, ValueTerms>();
  for (const { field, operator, value } of requirements) {
    const terms = all.get(field) ?? new ValueTerms();
    all.set(field, terms);
    if (operator === '=') terms.allow([value]);
    else terms.deny([value]);
  }
  return all;
}

/** Selects every object, whatever its fields. */
export const everyField: FieldSelector = new FieldSelector([]);

/** The text parsed last and what came of it. Filters and handlers of one request all ask for the same selector. */
let last: { readonly text: string; readonly result: FieldSelector | string } = { text: '', result: everyField };

/**
 * Parses a field selector. Throws TypeError with the text of Kubernetes, and for more than 10,000 terms, which Kubernetes reads. Source:
 * apimachinery fields.ParseSelector.
 */
export function parseFieldSelector(text: string): FieldSelector {
  if (text !== last.text) last = { text, result: selectorOrFault(text) };
  if (typeof last.result === 'string') throw new TypeError(last.result);
  return last.result;
}

function selectorOrFault(text: string): FieldSelector | string {
  try {
    return readTerms(text);
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
}

/** Maximum number of terms. Sorting 40,000 would take a tenth of a second. */
const maxTerms = 10_000;

function readTerms(text: string): FieldSelector {
  const requirements: FieldRequirement[] = [];
  const terms = splitTerms(text);
  if (terms.length > maxTerms) throw new TypeError(`invalid selector: more than ${maxTerms} terms`);
  // Kubernetes reads the terms in this order, which decides which of several wrong terms is reported.
  for (const term of terms.sort()) {
    if (term === '') continue;
    const requirement = parseTerm(term, text);
    // A term without field and value selects everything. Source: hasTerm.Transform.
    if (requirement.field !== '' || requirement.value !== '') requirements.push(requirement);
  }
  return requirements.length === 0 ? everyField : new FieldSelector(requirements);
}

function parseTerm(term: string, whole: string): FieldRequirement {
  const at = term.indexOf('=');
  if (at < 0) throw new TypeError(`invalid selector: '${whole}'; can't understand '${term}'`);
  if (term[at - 1] === '!')
    return { field: term.slice(0, at - 1), operator: '!=', value: unescapeValue(term.slice(at + 1)) };
  const value = term.slice(term[at + 1] === '=' ? at + 2 : at + 1);
  return { field: term.slice(0, at), operator: '=', value: unescapeValue(value) };
}

const backslash = 0x5c;
const comma = 0x2c;
const equals = 0x3d;

function splitTerms(text: string): string[] {
  if (!text.includes('\\')) return text.split(',');
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === backslash) i++;
    else if (unit === comma) {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function escapeValue(value: string): string {
  return value.replace(/[\\,=]/g, '\\$&');
}

/** Source: fields.UnescapeValue. */
function unescapeValue(text: string): string {
  if (!text.includes('\\') && !text.includes('=')) return text;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    // Kubernetes prints the character's number.
    if (unit === equals) throw new TypeError(`invalid field selector: unescaped character in value: ${unit}`);
    if (unit !== backslash) continue;
    const next = text.charCodeAt(++i);
    if (next !== backslash && next !== comma && next !== equals) {
      throw new TypeError(`invalid field selector: invalid escape sequence: \\${text[i] ?? ''}`);
    }
  }
  return text.replaceAll(/\\(.)/g, '$1');
}
