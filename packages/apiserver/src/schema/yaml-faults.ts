// Describes the fault of a text that is not YAML in the words of Go's reader, with its line numbers. Used by
// yaml-reader.ts. Source: go.yaml.in/yaml/v2 scannerc.go, parserc.go and decode.go (parser.fail), recorded texts.

import { ExactNumber } from '@kapstan/api';
import { goQuote } from '@kapstan/api/internal';
import type { YAMLError } from 'yaml';

/**
 * The place where Go finds the fault: its scanner counts lines from 1, its parser from 0; neither names the first line.
 */
type Place = 'scanner' | 'parser' | 'next' | 'end';

interface Fault {
  readonly reason: string;
  readonly place: Place;
}

/** The library's error with the text around it: from its place on, and the line before. */
interface Surroundings {
  readonly rest: string;
  readonly before: string;
  readonly column: number;
  readonly isSequence: boolean;
}

const noValue: Fault = { reason: 'mapping values are not allowed in this context', place: 'scanner' };
const noKey: Fault = { reason: 'did not find expected key', place: 'parser' };
const noItem: Fault = { reason: "did not find expected '-' indicator", place: 'parser' };
const noNode: Fault = { reason: 'did not find expected node content', place: 'parser' };
const noToken: Fault = { reason: 'found character that cannot start any token', place: 'scanner' };
const badTab: Fault = { reason: 'found a tab character that violates indentation', place: 'scanner' };
const noColon: Fault = { reason: "could not find expected ':'", place: 'next' };

const faults: readonly (readonly [text: RegExp, fault: Fault | ((at: Surroundings) => Fault)])[] = [
  [/^Nested mappings/, noValue],
  [/^Implicit keys need/, ({ rest }) => (rest.startsWith('-') ? noKey : { ...noValue, place: 'next' })],
  [/^Implicit map keys need/, ({ rest }) => (/^[[{]/.test(rest) ? noKey : noColon)],
  [/^A block sequence may not|^All mapping items/, noKey],
  [/^All sequence items/, noItem],
  [/^Unexpected scalar at node end/, ({ isSequence }) => (isSequence ? noItem : noKey)],
  // A tab inside a plain scalar gets another error than one at the start of a token.
  [/^Tabs are not allowed/, ({ before }) => (/[^\s:\-\]}"'|>,]\s*$/.test(before) ? badTab : noToken)],
  [/^Flow sequence/, { reason: "did not find expected ',' or ']'", place: 'end' }],
  [/^Flow map/, { reason: "did not find expected ',' or '}'", place: 'end' }],
  [/^Missing closing/, { reason: 'found unexpected end of stream', place: 'scanner' }],
  [
    /^Plain value cannot start with directive/,
    ({ column }) => (column === 1 ? { reason: 'found unknown directive name', place: 'scanner' } : noToken),
  ],
  [/^Plain value cannot start/, noToken],
  [/^Unexpected flow-(?:map|seq)-end/, ({ column, before }) => (column === 1 && before !== '' ? noKey : noNode)],
  [/^Unexpected , in flow/, noNode],
  [/^Block scalar header/, { reason: 'did not find expected comment or line break', place: 'scanner' }],
  [/^Invalid escape/, { reason: 'found unknown escape character', place: 'scanner' }],
];

/** Returns the text without "yaml: ". `isSequence`: the document is a list. */
export function describeFault(error: YAMLError, text: string, isSequence: boolean): string {
  const { line = 1, col: column = 1 } = error.linePos?.[0] ?? {};
  if (error.message.includes('call stack')) return 'exceeded max depth';
  const what = error.message.split(/ at line \d+|:?\n/)[0] ?? error.message;
  const known = faults.find(([pattern]) => pattern.test(what))?.[1];
  if (known === undefined) return `line ${line}: ${what}`;
  const [at = 0] = error.pos;
  const before = text.slice(0, at - column + 1).trimEnd();
  const fault = typeof known === 'function' ? known({ rest: text.slice(at), before, column, isSequence }) : known;
  const isAfterEnd = text.endsWith('\n') && at >= text.length - 1;
  return withLine(fault, line, isAfterEnd);
}

function withLine({ reason, place }: Fault, line: number, isAfterEnd: boolean): string {
  const shown = { scanner: line === 1 ? 0 : line, parser: line - 1, next: line + 1, end: line - Number(isAfterEnd) };
  return shown[place] === 0 ? reason : `line ${shown[place]}: ${reason}`;
}

/** Returns the fault of a text that the library reads and Go refuses. Undefined = none. */
export function unreadableIn(text: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are looked for.
  if (/[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]/.test(text))
    return 'control characters are not allowed';
  return /^%(?!YAML|TAG)/.test(text) ? 'found unknown directive name' : undefined;
}

/** Formats a value like Go's %#v. */
export function goSyntax(value: unknown): string {
  if (value === null) return 'interface {}(nil)';
  if (typeof value === 'string') return goQuote(value);
  if (value instanceof ExactNumber || typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[]interface {}{${value.map(goSyntax).join(', ')}}`;
  const members = Object.entries(value as object).map(([name, member]) => `${goQuote(name)}:${goSyntax(member)}`);
  return `map[interface {}]interface {}{${members.join(', ')}}`;
}
