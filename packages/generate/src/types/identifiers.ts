// Names of the generated types: valid in TypeScript, and each given once in a file.

/** Names that no type may have. */
const taken = new Set(
  'any as async await bigint boolean break case catch class const continue debugger default delete do else enum export extends false finally for function if implements import in instanceof interface kapstan let never new null number object package private protected public return static string super switch symbol this throw true try type typeof undefined unknown var void while with yield'.split(
    ' ',
  ),
);

/** Returns a valid name that resembles the text. */
export function identifier(text: string): string {
  const name = text.replaceAll(/[^A-Za-z0-9_$]/g, '_');
  return /^\d/.test(name) || taken.has(name) || name === '' ? `_${name}` : name;
}

/** Returns, for example, "TlsConfig" for "tls-config". */
export function pascalCase(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((part) => part.slice(0, 1).toUpperCase() + part.slice(1))
    .join('');
}

/** Returns the name as the key of a member. */
export function memberName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** Returns each name once; a second request for it gets a number. */
export class UniqueNames {
  readonly #given = new Set<string>();

  take(wanted: string): string {
    let name = wanted;
    for (let number = 2; this.#given.has(name); number += 1) name = `${wanted}${number}`;
    this.#given.add(name);
    return name;
  }
}
