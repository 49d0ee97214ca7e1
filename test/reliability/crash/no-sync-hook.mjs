// Module hook of crash-writer.mjs: gives the engine an LMDB that is opened with noSync, the one mistake that the crash
// images must find.
const wrapper = new URL('no-sync-lmdb.mjs', import.meta.url).href;

export function resolve(specifier, context, nextResolve) {
  if (specifier !== 'lmdb' || context.parentURL === wrapper) return nextResolve(specifier, context);
  return { url: wrapper, shortCircuit: true };
}
