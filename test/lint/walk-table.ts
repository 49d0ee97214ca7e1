// Reads the walks of one event out of ARCHITECTURE.md and docs/walks.md.

/** One function on the walk. */
export interface Hop {
  /** "1" to "13"; "8a" and "8b" are two ways from 7 to 9. */
  readonly step: string;
  /** Path from the root of the repository. */
  readonly file: string;
  /** "Cacher.create", "Committer.#run", "handleCreate". */
  readonly name: string;
  /**
   * Says how the previous function calls this one: an interface, the type of a function, `wire: …`, `awaits …`, `as there`. "" = by its
   * name.
   */
  readonly through: string;
  /** True when the call is in a function that the previous one hands on. */
  readonly isHandedOn: boolean;
  /** Functions that it calls and that return on the way. Each is followed by those that it calls in turn. */
  readonly asides: readonly (readonly string[])[];
}

/** Reads the table below a heading. */
export function readWalk(text: string, heading: string): readonly Hop[] {
  const section = text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| '));
  let step = '';
  return rows.slice(2).flatMap((row) => {
    const [number = '', file = '', functions = '', through = ''] = row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    step = number || step;
    return hopsOf({ step, file: `packages/${unquoted(file)}`, through: unquoted(through) }, functions);
  });
}

function hopsOf(row: Pick<Hop, 'step' | 'file' | 'through'>, functions: string): readonly Hop[] {
  let owner = '';
  // An arrow within parentheses is between functions that return.
  const parts = functions.split(/\s*(→|⇢)\s*(?![^(]*\))/);
  if (parts[0] === '') parts.shift();
  else parts.unshift('→');
  return parts.flatMap((part, index) => {
    if (index % 2 === 0) return [];
    const [first = '', rest = ''] = part.split(' (');
    const written = unquoted(first);
    const name = written.startsWith('#') ? `${owner}.${written}` : written;
    owner = name.includes('.') ? (name.split('.')[0] ?? '') : '';
    const asides = rest.split(', ').map((chain) => [...chain.matchAll(/`([^`]+)`/g)].map(([, aside = '']) => aside));
    const isHandedOn = parts[index - 1] === '⇢';
    return { ...row, name, through: index === 1 ? row.through : '', isHandedOn, asides: asides.filter(isNotEmpty) };
  });
}

function isNotEmpty(chain: readonly string[]): boolean {
  return chain.length > 0;
}

function unquoted(cell: string): string {
  return cell.replaceAll('`', '');
}
