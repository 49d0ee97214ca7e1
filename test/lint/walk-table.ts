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
  /** Functions that it calls and that return before the next hop. */
  readonly asides: readonly string[];
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
  return functions.split(' → ').map((part, index) => {
    const [first = '', rest = ''] = part.split(' (');
    const written = unquoted(first);
    const name = written.startsWith('#') ? `${owner}.${written}` : written;
    owner = name.includes('.') ? (name.split('.')[0] ?? '') : '';
    const asides = [...rest.matchAll(/`([^`]+)`/g)].map(([, aside = '']) => aside);
    return { ...row, name, through: index === 0 ? row.through : '', asides };
  });
}

function unquoted(cell: string): string {
  return cell.replaceAll('`', '');
}
