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
  /** Terms by field if they are many: a client may send 50,000, to compare with 20,000 objects. */
  readonly #terms: ReadonlyMap<string, ValueTerms> | undefined;

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements;
    this.#terms = requirements.length > fewTerms ? termsByField(requirements) : undefined;
  }

  get isEmpty(): boolean {
    return this.requirements.length === 0;
  }

  /** True when all terms hold. A missing field counts as "". */
  matches(fields: Readonly<Record<string, string>>): boolean {
    if (this.#terms === undefined) {
      return this.requirements.every(({ field, operator, value }) => {
        const actual = fieldOf(fields, field);
        return operator === '=' ? actual === value : actual !== value;
      });
    }
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

/** Parses a field selector. Throws TypeError with the text of Kubernetes. Source: apimachinery fields.ParseSelector. */
export function parseFieldSelector(text: string): FieldSelector {
  const requirements: FieldRequirement[] = [];
  // Kubernetes reads the terms in this order, which decides which of several wrong terms is reported.
  for (const term of splitTerms(text).sort()) {
    if (term === '') continue;
    const requirement = parseTerm(term, text);
    // A term without field and value selects everything. Source: hasTerm.Transform.
    if (requirement.field !== '' || requirement.value !== '') requirements.push(requirement);
  }
  return requirements.length === 0 ? everyField : new FieldSelector(requirements);
}

function parseTerm(term: string, whole: string): FieldRequirement {
  for (let i = 0; i < term.length; i++) {
    const rest = term.slice(i);
    const operator = rest.startsWith('!=')
      ? '!='
      : rest.startsWith('==')
        ? '=='
        : rest.startsWith('=')
          ? '='
          : undefined;
    if (operator === undefined) continue;
    const value = unescapeValue(term.slice(i + operator.length));
    return { field: term.slice(0, i), operator: operator === '!=' ? '!=' : '=', value };
  }
  throw new TypeError(`invalid selector: '${whole}'; can't understand '${term}'`);
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') i++;
    else if (text[i] === ',') {
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
  let value = '';
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    if (char === '\\') {
      const next = text[++i] ?? '';
      if (next === '' || !'\\,='.includes(next)) {
        throw new TypeError(`invalid field selector: invalid escape sequence: \\${next}`);
      }
      value += next;
    } else if (char === '=') {
      // Kubernetes prints the character's number.
      throw new TypeError(`invalid field selector: unescaped character in value: ${char.charCodeAt(0)}`);
    } else value += char;
  }
  return value;
}
