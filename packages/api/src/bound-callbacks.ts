// Callbacks of options, for who copies the options or keeps a callback apart from them. Beside guarded-call.ts.

/** A copy in which these functions, own or inherited, are called as methods of the original, whoever calls them how. */
export function boundCallbacks<O extends object>(options: O, names: readonly (keyof O & string)[]): O {
  const callbacks = names.map((name) => [name, options[name]] as const).filter(([, one]) => typeof one === 'function');
  const bound = callbacks.map(([name, one]) => [name, (one as (...given: never[]) => unknown).bind(options)]);
  return { ...options, ...(Object.fromEntries(bound) as Partial<O>) };
}
